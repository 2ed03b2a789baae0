# FOLDER/NAME.json for each answer of the program MEMTOOL (a command line: compiled across, it needs an emulator).
execute_process(COMMAND ${MEMTOOL} help schema OUTPUT_VARIABLE names COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]+" names "${names}")
file(MAKE_DIRECTORY ${FOLDER})
foreach(name IN LISTS names)
  execute_process(COMMAND ${MEMTOOL} help schema ${name} OUTPUT_FILE ${FOLDER}/${name}.json
                  COMMAND_ERROR_IS_FATAL ANY)
endforeach()
