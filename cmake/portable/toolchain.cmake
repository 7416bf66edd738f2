# For what is given away: the compiler of this system on the C library and the libstdc++ of an older Debian, whose root is
# named by $DTYPECHECK_SYSROOT (scripts/wheel makes one). What is built needs no more than that Debian has: glibc 2.31 and
# GCC 10's libstdc++. C++20 comes from the newer compiler, so the chroot's own is not used.
#
# The program takes libstdc++ and all other libraries in; stage 2 is a module, and shares the libstdc++ of the program that
# it is loaded into.
if(NOT DTYPECHECK_SYSROOT)
  set(DTYPECHECK_SYSROOT $ENV{DTYPECHECK_SYSROOT} CACHE PATH "Root of the Debian that is compiled against")
endif()
set(sysroot ${DTYPECHECK_SYSROOT})
if(NOT EXISTS "${sysroot}/usr/include/c++/10")
  message(FATAL_ERROR "$DTYPECHECK_SYSROOT: '${sysroot}' has no usr/include/c++/10; scripts/wheel makes such a root")
endif()
set(CMAKE_SYSTEM_NAME Linux)
if(NOT CMAKE_SYSTEM_PROCESSOR)
  set(CMAKE_SYSTEM_PROCESSOR ${CMAKE_HOST_SYSTEM_PROCESSOR})
endif()
set(triple ${CMAKE_SYSTEM_PROCESSOR}-linux-gnu)
if(NOT CMAKE_SYSTEM_PROCESSOR STREQUAL CMAKE_HOST_SYSTEM_PROCESSOR)
  set(CMAKE_C_COMPILER ${triple}-gcc)
  set(CMAKE_CXX_COMPILER ${triple}-g++)
endif()
set(CMAKE_LIBRARY_ARCHITECTURE ${triple})
set(CMAKE_SYSROOT ${sysroot})

set(includes ${sysroot}/usr/include/c++/10)
string(JOIN " " CMAKE_CXX_FLAGS_INIT -nostdinc++ -isystem ${includes} -isystem ${sysroot}/usr/include/${triple}/c++/10
       -isystem ${includes}/backward)
# The compiler looks beside itself first, and finds this system's C library and start files, which call what the old one has
# not; --sysroot does not change that. Of the old compiler's folder only the libraries: -B would find the compiler there, too.
set(libraries "-B${sysroot}/usr/lib/${triple} -L${sysroot}/usr/lib/gcc/${triple}/10 -L${sysroot}/usr/lib/${triple}")
string(APPEND libraries " -L${sysroot}/lib/${triple} -Wl,--as-needed")
set(CMAKE_EXE_LINKER_FLAGS_INIT "${libraries} -static-libstdc++ -static-libgcc")
set(CMAKE_MODULE_LINKER_FLAGS_INIT "${libraries}")
set(CMAKE_SHARED_LINKER_FLAGS_INIT "${libraries}")

set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES CMAKE_SYSTEM_PROCESSOR DTYPECHECK_SYSROOT)
# Static libraries alone: read once the system's own suffixes are known.
set(CMAKE_PROJECT_INCLUDE ${CMAKE_CURRENT_LIST_DIR}/static_libraries.cmake)
