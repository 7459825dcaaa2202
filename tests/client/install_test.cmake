# Installs the library from BUILD_DIR into a directory of this test's own, builds CONSUMER_DIR against it by CMake and
# by pkg-config, and runs both. Any failure is this script's.
#   cmake -DBUILD_DIR=… -DCONSUMER_DIR=… -DWORK_DIR=… -DLIBDIR=… -DCXX=… -P install_test.cmake

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}: ${result}\n${output}")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK_DIR})
file(MAKE_DIRECTORY ${WORK_DIR})
file(WRITE ${WORK_DIR}/graph.pb "a graph")
run(${CMAKE_COMMAND} --install ${BUILD_DIR} --component library --prefix ${WORK_DIR}/first)
# Nothing in it may know where it was installed.
file(RENAME ${WORK_DIR}/first ${WORK_DIR}/moved)

run(${CMAKE_COMMAND} -S ${CONSUMER_DIR} -B ${WORK_DIR}/build -DCMAKE_PREFIX_PATH=${WORK_DIR}/moved
  -DCMAKE_CXX_COMPILER=${CXX})
run(${CMAKE_COMMAND} --build ${WORK_DIR}/build)
run(${WORK_DIR}/build/consumer ${WORK_DIR}/graph.pb)

set(ENV{PKG_CONFIG_PATH} ${WORK_DIR}/moved/${LIBDIR}/pkgconfig)
execute_process(COMMAND pkg-config --cflags --libs neffcache
  OUTPUT_VARIABLE flags COMMAND_ERROR_IS_FATAL ANY OUTPUT_STRIP_TRAILING_WHITESPACE)
separate_arguments(flags UNIX_COMMAND "${flags}")
run(${CXX} -std=c++17 ${CONSUMER_DIR}/main.cc -o ${WORK_DIR}/by-pkg-config ${flags})
run(${WORK_DIR}/by-pkg-config ${WORK_DIR}/graph.pb)
file(REMOVE_RECURSE ${WORK_DIR})
