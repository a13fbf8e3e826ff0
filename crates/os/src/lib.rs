//! Every contact with the world, real and simulated: files, sockets, clocks, randomness, threads, latches, waits, counters.
