/* libFuzzer's way in. */
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size); // NOLINT(readability-identifier-naming)

int LLVMFuzzerTestOneInput(const u8 *data, size_t size) // NOLINT(readability-identifier-naming)
{
	fuzz_one(data, size);
	return 0;
}
