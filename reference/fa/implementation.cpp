// Compiled for each test binary with FA_IMPLEMENTATION set to what that binary tests, and with FA_LEAST_ARCHITECTURE
// where that does not run on every GPU. See testing.cpp and cuda/skip_without_device.cpp.

#ifndef FA_LEAST_ARCHITECTURE
#define FA_LEAST_ARCHITECTURE 0
#endif

extern const char* const fa_implementation;
const char* const fa_implementation = FA_IMPLEMENTATION;

extern const int fa_least_architecture;
const int fa_least_architecture = FA_LEAST_ARCHITECTURE;
