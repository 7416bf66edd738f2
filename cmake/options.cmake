option(DTYPECHECK_QUICK_BUILD "Compile with -O1, for a first look: the program is slower, what is traced is not" OFF)
# GCC takes a tenth longer for -O3, and what is hot here gains nothing by it. The kernels ask for
# it, and the tracer for -O2.
set(optimized -O2)
if(DTYPECHECK_QUICK_BUILD)
  set(optimized -O1)
endif()
string(REPLACE "-O3" ${optimized} CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")

# What every target of ours is compiled with: link `dtypecheck_options`.
add_library(dtypecheck_options INTERFACE)
target_include_directories(dtypecheck_options INTERFACE ${PROJECT_SOURCE_DIR})
# Programs as libraries, so that both take the same precompiled headers.
target_compile_options(dtypecheck_options INTERFACE -fPIC)
target_compile_options(dtypecheck_options INTERFACE -Wall -Wextra -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC PR 105651, 105329 and their like: wrong about what becomes of a temporary std::string.
  target_compile_options(dtypecheck_options INTERFACE -Wno-restrict -Wno-array-bounds -Wno-stringop-overread
                                                      -Wno-stringop-overflow)
endif()
if(DTYPECHECK_WERROR)
  target_compile_options(dtypecheck_options INTERFACE -Werror)
endif()
if(DTYPECHECK_SANITIZE)
  target_compile_options(dtypecheck_options INTERFACE -fsanitize=${DTYPECHECK_SANITIZE} -fno-omit-frame-pointer
                                                      -fno-sanitize-recover=all)
  target_link_options(dtypecheck_options INTERFACE -fsanitize=${DTYPECHECK_SANITIZE})
  target_compile_definitions(dtypecheck_options INTERFACE DTYPECHECK_SANITIZED)  # tests do less of what takes a hundred times as long
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(dtypecheck_options INTERFACE -Wno-maybe-uninitialized)  # wrong beside sanitizers, says GCC
  endif()
endif()
if(DTYPECHECK_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "DTYPECHECK_FUZZ needs clang, this is ${CMAKE_CXX_COMPILER_ID}; cmake --preset asan")
  endif()
  target_compile_options(dtypecheck_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # The stable_sort of libstdc++ 12 calls std::get_temporary_buffer, which Clang names at each use
  # of ours; a DeviceVariant (kernels/variant.h) is defined in another file than it is used in.
  target_compile_options(dtypecheck_options INTERFACE -Wno-deprecated-declarations -Wno-undefined-var-template)
endif()
