# What a wheel holds besides Python files: the program in the package evenkeel_program, the operators in the
# package evenkeel, both stripped. They find LibTorch in the package torch, which is next to both.
#
# EK_BUILT is the folder of a finished build that the files are taken from; without it they are built here.
set(EK_BUILT "" CACHE PATH "Build folder that holds evenkeel and libevenkeel_ops.so")
if(EK_BUILT)
  set(WHEEL_PROGRAM ${EK_BUILT}/evenkeel)
  set(WHEEL_OPERATORS ${EK_BUILT}/libevenkeel_ops.so)
  foreach(TARGET evenkeel evenkeel_ops)
    add_custom_target(${TARGET})
  endforeach()
else()
  set(WHEEL_PROGRAM $<TARGET_FILE:evenkeel>)
  set(WHEEL_OPERATORS $<TARGET_FILE:evenkeel_ops>)
endif()
find_program(EK_STRIP NAMES strip REQUIRED)

# wheel_file(FILE FOLDER)
function(wheel_file FILE FOLDER)
  install(PROGRAMS ${FILE} DESTINATION ${FOLDER})
  install(CODE "
    get_filename_component(NAME \"${FILE}\" NAME)
    set(INSTALLED \"\${CMAKE_INSTALL_PREFIX}/${FOLDER}/\${NAME}\")
    file(RPATH_SET FILE \"\${INSTALLED}\" NEW_RPATH [[$ORIGIN/../torch/lib]])
    execute_process(COMMAND ${EK_STRIP} \"\${INSTALLED}\" COMMAND_ERROR_IS_FATAL ANY)")
endfunction()
wheel_file(${WHEEL_PROGRAM} evenkeel_program)
wheel_file(${WHEEL_OPERATORS} evenkeel)
