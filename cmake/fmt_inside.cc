// All of fmt, for a program that does without its shared library: compiled with
// -fkeep-inline-functions, every function of the header-only form stands in this one object.
#define FMT_HEADER_ONLY
#include <fmt/format.h>
