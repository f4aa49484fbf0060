# muster_embed(TARGET KIND VARIABLE globs…)
# Turns files into one generated C++ source of TARGET that defines
#   extern const std::vector<muster::EmbeddedFile> VARIABLE   (declared in models/embedded_file.h)
# ordered by name, so that nothing has to be found on disk at run time.
function(muster_embed TARGET KIND VARIABLE)
  file(GLOB files CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR} ${ARGN})
  list(SORT files)
  set(out ${CMAKE_BINARY_DIR}/embedded/${VARIABLE}.cc)
  add_custom_command(
    OUTPUT ${out}
    COMMAND python3 ${CMAKE_SOURCE_DIR}/tools/embed.py ${VARIABLE} ${out} ${files}
    WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
    DEPENDS ${files} ${CMAKE_SOURCE_DIR}/tools/embed.py
    COMMENT "Embedding ${KIND}"
    VERBATIM)
  target_sources(${TARGET} PRIVATE ${out})
endfunction()
