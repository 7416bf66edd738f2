# utf8proc: Utf8proc::utf8proc.
find_path(UTF8PROC_INCLUDE_DIR utf8proc.h)
find_library(UTF8PROC_LIBRARY utf8proc)
mark_as_advanced(UTF8PROC_INCLUDE_DIR UTF8PROC_LIBRARY)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  Utf8proc REQUIRED_VARS UTF8PROC_LIBRARY UTF8PROC_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "install libutf8proc-dev (Debian, Ubuntu) or utf8proc-devel (Fedora)")
if(Utf8proc_FOUND AND NOT TARGET Utf8proc::utf8proc)
  add_library(Utf8proc::utf8proc INTERFACE IMPORTED)
  target_include_directories(Utf8proc::utf8proc SYSTEM INTERFACE ${UTF8PROC_INCLUDE_DIR})
  target_link_libraries(Utf8proc::utf8proc INTERFACE ${UTF8PROC_LIBRARY})
endif()
