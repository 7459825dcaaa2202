# neffcache_static_grpc_libraries(RESULT): the archives behind gRPC, protobuf and what our own
# libraries use besides, as full paths; empty where one of them is not installed.
function(neffcache_static_grpc_libraries result)
  set(${result} "" PARENT_SCOPE)
  execute_process(
    COMMAND ${PKG_CONFIG_EXECUTABLE} --static --libs-only-l grpc++ protobuf libzstd libcrypto zlib
    OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed ERROR_QUIET)
  if(failed)
    return()
  endif()
  string(REGEX MATCHALL "-l[^ ]+" flags "${flags}")
  # Not in gRPC's own list: the parts of Abseil that only we use.
  list(APPEND flags -labsl_examine_stack -labsl_leak_check)
  list(REMOVE_DUPLICATES flags)
  foreach(flag IN LISTS flags)
    string(SUBSTRING ${flag} 2 -1 name)
    if(name MATCHES "^(dl|rt|m|pthread|atomic)$")
      continue()
    endif()
    find_library(NEFFCACHE_STATIC_${name} lib${name}.a)
    mark_as_advanced(NEFFCACHE_STATIC_${name})
    if(NOT NEFFCACHE_STATIC_${name})
      message(STATUS "lib${name}.a is missing: the shim is linked with shared libraries")
      return()
    endif()
    list(APPEND archives ${NEFFCACHE_STATIC_${name}})
  endforeach()
  set(${result} ${archives} PARENT_SCOPE)
endfunction()
