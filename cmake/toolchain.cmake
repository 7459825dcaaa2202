# How everything is compiled: warnings are errors, sanitizers by option, ccache and mold where present.

option(NEFFCACHE_FUZZ "Build the libFuzzer targets (clang)" OFF)
set(NEFFCACHE_SANITIZE "" CACHE STRING "address,undefined or thread")
if(NEFFCACHE_SANITIZE OR NEFFCACHE_FUZZ)
  set(NEFFCACHE_SANITIZED ON) # Either way.
endif()

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()
find_program(MOLD_PROGRAM mold)
if(MOLD_PROGRAM)
  add_link_options(-fuse-ld=mold)
endif()

# Debug information small enough for a two-core machine; line tables are what back-traces need.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1")
set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g1")

# Linked privately by every target of ours. Generated code does not link it.
add_library(neffcache_warnings INTERFACE)
target_compile_options(neffcache_warnings INTERFACE
  -Wall -Wextra -Werror -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wimplicit-fallthrough
  $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>)
target_include_directories(neffcache_warnings INTERFACE ${CMAKE_SOURCE_DIR})

if(NEFFCACHE_SANITIZE)
  add_compile_options(-fsanitize=${NEFFCACHE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${NEFFCACHE_SANITIZE})
  # Debian's Abseil lacks the containers' sanitizer poisoning; mixing is safe, ODR checks are not.
  set(ENV{ASAN_OPTIONS} "detect_odr_violation=0")
endif()
if(NEFFCACHE_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all)
  add_link_options(-fsanitize=address,undefined)
endif()

# ThreadSanitizer learns of absl::Mutex from wrappers around it; absl_mutex_tsan.cc says why.
add_library(neffcache_sanitized_mutex INTERFACE)
if(NEFFCACHE_SANITIZE STREQUAL "thread")
  target_sources(neffcache_sanitized_mutex INTERFACE ${CMAKE_SOURCE_DIR}/cmake/absl_mutex_tsan.cc)
  target_link_libraries(neffcache_sanitized_mutex INTERFACE absl::synchronization absl::time)
  foreach(name
      Mutex4LockEv Mutex6UnlockEv Mutex10ReaderLockEv Mutex12ReaderUnlockEv MutexD1Ev
      Mutex5AwaitERKNS0_9ConditionE
      Mutex16AwaitWithTimeoutERKNS0_9ConditionENS0_8DurationE
      Mutex17AwaitWithDeadlineERKNS0_9ConditionENS0_4TimeE)
    target_link_options(neffcache_sanitized_mutex INTERFACE -Wl,--wrap=_ZN4absl7debian35${name})
  endforeach()
endif()

# neffcache_library(NAME SOURCES... ) with the include root and the warnings.
function(neffcache_library name)
  add_library(${name} STATIC ${ARGN})
  target_link_libraries(${name} PRIVATE $<BUILD_INTERFACE:neffcache_warnings>)
  target_include_directories(${name} PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}>)
endfunction()

function(neffcache_program name)
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE neffcache_warnings)
endfunction()

# neffcache_test(NAME SOURCES... LIBS libs...): one GoogleTest program, each of its tests known to ctest.
function(neffcache_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LIBS")
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_link_libraries(${name} PRIVATE
    ${arg_LIBS} neffcache_warnings neffcache_sanitized_mutex GTest::gmock GTest::gtest_main)
  gtest_discover_tests(${name} PROPERTIES TIMEOUT 120 DISCOVERY_TIMEOUT 60)
endfunction()
