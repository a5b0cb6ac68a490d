static volatile unsigned long sink;

static int burn_and_throw() {
    for (unsigned long i = 0; i < 5000000; i++) sink += i * i;
    throw 17;
}

static int never = burn_and_throw();
