# For aarch64, by Debian's cross compiler and its arm64 packages:
#   cmake -DCMAKE_TOOLCHAIN_FILE=scripts/cmake/aarch64.cmake ...
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig)
# Ours need no emulator to be installed: tests find one on their own.
find_program(ACCEL_PROF_QEMU qemu-aarch64-static)
if(ACCEL_PROF_QEMU)
	set(CMAKE_CROSSCOMPILING_EMULATOR ${ACCEL_PROF_QEMU})
endif()
