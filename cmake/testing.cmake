# One limit for all tests, against what hangs: a busy machine is ten times as slow as a quiet one.
# ctest reads it there.
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/DartConfiguration.tcl CONTENT "TimeOut: 3600\n")
set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${CMAKE_CURRENT_LIST_DIR}/test_environment.cmake)

option(DTYPECHECK_UNIT_TESTS "Test programs that need neither LibTorch nor an optimizer; OFF where a build with sanitizers runs them" ON)

# dtypecheck_test(core.dtype_set SOURCES a.cpp LIBRARIES dtypecheck_core): one Catch2 program, one
# CTest entry of that name. PLAIN: its sources have nothing of Catch2. LONG: it takes minutes with sanitizers. A test runs for milliseconds
# and Catch2's macros are slow to optimize: tests are compiled as they stand.
add_library(dtypecheck_test_options INTERFACE)
target_link_libraries(dtypecheck_test_options INTERFACE dtypecheck_options Catch2::Catch2)
target_compile_options(dtypecheck_test_options INTERFACE -O0)
# There is a program for each test, and none of them is given away: they are linked by what is fastest.
find_program(DTYPECHECK_MOLD mold)
mark_as_advanced(DTYPECHECK_MOLD)
if(DTYPECHECK_MOLD)
  target_link_options(dtypecheck_test_options INTERFACE -fuse-ld=mold)
endif()
precompile(
  dtypecheck_test_headers
  LIBRARIES dtypecheck_test_options
  HEADERS <catch2/catch.hpp> <algorithm> <filesystem> <fstream> <functional> <map> <optional> <set> <sstream> <string>
          <vector>)
add_library(dtypecheck_test_main OBJECT ${PROJECT_SOURCE_DIR}/tests/main.cpp)
target_link_libraries(dtypecheck_test_main PUBLIC dtypecheck_test_options)

function(dtypecheck_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "PLAIN;LONG" "" "SOURCES;LIBRARIES;LABELS")
  string(REPLACE "." "_" target "test_${name}")
  add_executable(${target} ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE dtypecheck_test_main ${arg_LIBRARIES})
  target_compile_definitions(${target} PRIVATE DTYPECHECK_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
                                               DTYPECHECK_BINARY_DIR="${PROJECT_BINARY_DIR}")
  if(NOT arg_PLAIN AND NOT arg_LIBRARIES MATCHES "LibTorch::")  # which has a macro of its own for libstdc++
    share_precompiled(dtypecheck_test_headers ${target})
  endif()
  if(NOT DTYPECHECK_UNIT_TESTS AND NOT arg_LONG AND NOT arg_LIBRARIES MATCHES "LibTorch::" AND NOT name MATCHES "^kernel")
    set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON)
    return()
  endif()
  add_test(NAME ${name} COMMAND ${target})
  if(arg_LONG AND DTYPECHECK_SANITIZE)
    list(APPEND arg_LABELS slow)
  endif()
  if(arg_LABELS)
    set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}")
  endif()
endfunction()

# Leaves the folder's file where programs of Python with torch cannot be traced. Sets what
# FindLibTorchWheel sets.
macro(dtypecheck_needs_traced_python)
  if(DTYPECHECK_TRACER)
    find_package(LibTorchWheel REQUIRED)
  endif()
  set(why_not)
  if(NOT DTYPECHECK_TRACER)
    set(why_not "DTYPECHECK_TRACER is off")
  elseif(DTYPECHECK_SANITIZE)
    set(why_not "Python is not built with the sanitizer that the tracer would bring in")
  elseif(NOT LibTorchWheel_PYTHON)
    set(why_not "LibTorch was given as a folder, and they need Python with torch")
  endif()
  if(why_not)
    cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE folder)
    message(STATUS "${folder}: tests are left out: ${why_not}")
    return()
  endif()
endmacro()
