// How a library takes part in the walk of edge_model.cpp.
#include "own_samples.h"

struct Callbacks {
    void (*in_library_enters)(Callbacks *);
    void (*in_library_samples)(Callbacks *);
    void (*in_library_leaves)(Callbacks *);
    long (*(*any)(Callbacks *))(void *);
    void *argument;
    signal_source *signal;
};
typedef long InLibrary(Callbacks *);
