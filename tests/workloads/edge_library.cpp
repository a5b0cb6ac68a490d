// A library that takes part in the walk of edge_model.cpp.
#include "edge_model.h"

extern "C" long in_library(Callbacks *callbacks) {
    callbacks->in_library_enters(callbacks);
    long sum = callbacks->any(callbacks)(callbacks->argument);
    callbacks->in_library_samples(callbacks);
    RAISE(*callbacks->signal);
    sum += callbacks->any(callbacks)(callbacks->argument);
    callbacks->in_library_leaves(callbacks);
    return sum;
}
