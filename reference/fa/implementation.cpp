// Compiled for each test binary with FA_IMPLEMENTATION set to what that binary tests. See testing.cpp.

extern const char* const fa_implementation;
const char* const fa_implementation = FA_IMPLEMENTATION;
