# libelf and libdw of elfutils: Elfutils::elf, Elfutils::dw.
find_path(LIBDW_INCLUDE_DIR elfutils/libdwfl.h)
find_library(LIBDW_LIBRARY dw)
find_library(LIBELF_LIBRARY elf)
mark_as_advanced(LIBDW_INCLUDE_DIR LIBDW_LIBRARY LIBELF_LIBRARY)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  Elfutils REQUIRED_VARS LIBELF_LIBRARY LIBDW_LIBRARY LIBDW_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "install libdw-dev (Debian, Ubuntu) or elfutils-devel (Fedora)")
if(Elfutils_FOUND AND NOT TARGET Elfutils::elf)
  add_library(Elfutils::elf INTERFACE IMPORTED)
  target_include_directories(Elfutils::elf SYSTEM INTERFACE ${LIBDW_INCLUDE_DIR})
  target_link_libraries(Elfutils::elf INTERFACE ${LIBELF_LIBRARY})
  add_library(Elfutils::dw INTERFACE IMPORTED)
  target_link_libraries(Elfutils::dw INTERFACE ${LIBDW_LIBRARY} Elfutils::elf)
endif()
