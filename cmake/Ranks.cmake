# muster_rank(NAME SOURCES globs… [EXCLUDE folders or globs…] LINK libraries…)
# One static library per rank of the tree. New files are picked up by themselves.

add_library(muster_flags INTERFACE)
target_include_directories(muster_flags INTERFACE ${CMAKE_SOURCE_DIR})
# A newer compiler than that of scripts/check may know more warnings, and must still build.
set(werror ON)
if(CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
  set(werror OFF)
endif()
option(MUSTER_WERROR "warnings are errors" ${werror})
target_compile_options(muster_flags INTERFACE -Wall -Wextra -Wconversion -Wshadow)
if(MUSTER_WERROR)
  target_compile_options(muster_flags INTERFACE -Werror)
endif()
target_compile_definitions(muster_flags INTERFACE MUSTER_VERSION="${PROJECT_VERSION}")
if(MUSTER_SANITIZE)
  target_compile_options(muster_flags INTERFACE -fsanitize=${MUSTER_SANITIZE} -fno-omit-frame-pointer
                         $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)  # it is often mistaken, instrumented
  target_link_options(muster_flags INTERFACE -fsanitize=${MUSTER_SANITIZE})
endif()

# Each function in a section of its own: a program that drops unused sections stays small although
# the linker takes whole batches of files.
target_compile_options(muster_flags INTERFACE -ffunction-sections -fdata-sections)
# For code whose speed nobody notices: it compiles in half the time.
set(MUSTER_QUICK "$<$<CONFIG:RelWithDebInfo>:-O1>")

function(muster_sources OUT)
  cmake_parse_arguments(ARG "" "" "SOURCES;EXCLUDE" ${ARGN})
  list(TRANSFORM ARG_SOURCES PREPEND ${CMAKE_SOURCE_DIR}/)
  file(GLOB found CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR} ${ARG_SOURCES})
  foreach(left_out IN LISTS ARG_EXCLUDE)
    string(REPLACE "*" "[^/]*" left_out "${left_out}")
    list(FILTER found EXCLUDE REGEX "^${left_out}")
  endforeach()
  list(TRANSFORM found PREPEND ${CMAKE_SOURCE_DIR}/)
  set(${OUT} ${found} PARENT_SCOPE)
endfunction()

function(muster_rank NAME)
  cmake_parse_arguments(ARG "" "" "SOURCES;EXCLUDE;LINK" ${ARGN})
  muster_sources(files SOURCES ${ARG_SOURCES} EXCLUDE ${ARG_EXCLUDE})
  add_library(muster_${NAME} STATIC ${files})
  target_link_libraries(muster_${NAME} PUBLIC ${ARG_LINK} PRIVATE muster_flags)
  target_include_directories(muster_${NAME} PUBLIC ${CMAKE_SOURCE_DIR})
endfunction()
