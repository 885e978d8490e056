// What a process may still do that runs code of somebody else: compute, take memory, start threads, and write to the
// files that are open already. It writes no other file, starts no program, reaches no network, signals no other
// process, and keeps nothing of what root may do, but to read any file.

#pragma once

namespace fa {

// For the rest of this process, all threads. Returns 0, or the number of the error (errno) if the system does not have
// it.
int enter_sandbox();

}  // namespace fa
