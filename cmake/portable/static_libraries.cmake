# Read at project(): libraries are looked for as archives, and fmt, which Debian has only as a shared one, as headers.
set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
list(PREPEND CMAKE_MODULE_PATH ${CMAKE_CURRENT_LIST_DIR})

# What is linked in goes with its licence. elfutils (libdw, libelf) is under LGPL-3+ or GPL-2+: dtypecheck's own source, from
# which it can be linked anew with another elfutils, is what that asks for.
set(licences share/doc/dtypecheck/licences)
foreach(package libdw-dev libelf-dev zlib1g-dev liblzma-dev libbz2-dev libutf8proc-dev libre2-dev libsqlite3-dev libstdc++-10-dev libfmt-dev
                nlohmann-json3-dev libcli11-dev libtomlplusplus-dev libhwy-dev)
  install(FILES ${CMAKE_SYSROOT}/usr/share/doc/${package}/copyright DESTINATION ${licences} RENAME ${package}.txt)
endforeach()
foreach(licence GPL-2 GPL-3 LGPL-2.1 LGPL-3 Apache-2.0)
  install(FILES ${CMAKE_SYSROOT}/usr/share/common-licenses/${licence} DESTINATION ${licences})
endforeach()
