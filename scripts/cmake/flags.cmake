# What every C file of ours is compiled with, as one INTERFACE target.
#
#   ACCEL_PROF_WERROR    warnings are errors (on in the presets dev and fuzz, and in scripts/test;
#                        off in what users build, which a newer compiler's new warning must
#                        not break)
#   ACCEL_PROF_SANITIZE  AddressSanitizer with LeakSanitizer, and UndefinedBehaviorSanitizer

option(ACCEL_PROF_WERROR "Treat warnings as errors" OFF)
option(ACCEL_PROF_SANITIZE "Build with ASan, LSan and UBSan" OFF)

# Asserts stay on in what users get: they guard against our own mistakes, and cost nothing here.
string(REPLACE "-DNDEBUG" "" CMAKE_C_FLAGS_RELWITHDEBINFO "${CMAKE_C_FLAGS_RELWITHDEBINFO}")

add_library(accel_prof_flags INTERFACE)
target_compile_definitions(accel_prof_flags INTERFACE _GNU_SOURCE _FILE_OFFSET_BITS=64)
target_compile_options(accel_prof_flags INTERFACE
	-std=gnu11 -Wall -Wextra -Wshadow -Wvla -Wundef -Wpointer-arith -Wwrite-strings
	-Wmissing-prototypes -Wstrict-prototypes -Wold-style-definition -Wformat=2
	-Wimplicit-fallthrough -Wcast-align -Wconversion -Wno-sign-conversion -Wdouble-promotion
	-fno-common -fvisibility=hidden -fstack-protector-strong -fno-strict-aliasing)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
	target_compile_options(accel_prof_flags INTERFACE
		-Wlogical-op -Wduplicated-cond -Wduplicated-branches -Wformat-overflow=2
		-Wnull-dereference
		# Texts with a fixed size are cut on purpose (struct err, paths of /proc).
		-Wno-format-truncation)
elseif(CMAKE_C_COMPILER_ID STREQUAL "Clang")
	target_compile_options(accel_prof_flags INTERFACE -Wcomma -Wshorten-64-to-32)
endif()
if(ACCEL_PROF_WERROR)
	target_compile_options(accel_prof_flags INTERFACE -Werror)
endif()
if(ACCEL_PROF_SANITIZE)
	target_compile_options(accel_prof_flags INTERFACE
		-fsanitize=address,undefined -fno-sanitize-recover=undefined
		-fno-omit-frame-pointer)
	target_link_options(accel_prof_flags INTERFACE -fsanitize=address,undefined)
endif()
