# stop_at_unlisted(folder list line file…): stops where a source lies in the folder that is none of
# the files, for nobody would compile it. `line` is what the list lacks, with @ for the file's name.
function(stop_at_unlisted folder list line)
  file(GLOB lying RELATIVE ${folder} CONFIGURE_DEPENDS ${folder}/*.cpp)
  list(REMOVE_ITEM lying ${ARGN})
  foreach(file ${lying})
    get_filename_component(name ${file} NAME_WE)
    string(REPLACE "@" ${name} wanted "${line}")
    message(FATAL_ERROR "${folder}/${file} is compiled by nothing: expected ${wanted} in ${list}, and there is none; add the line or move the file")
  endforeach()
endfunction()
