/* A run that parks while a signal is on its way. The park holds only if nothing has arrived since
   the run was loaded; else the run stays runnable.

   Holds: whoever waits for a signal that was sent is woken.
   Mutant, must be violated: NO_ARRIVALS. */
#ifndef SENDERS
#define SENDERS 2
#endif
byte arrivals, queue, taken;
bool waiting, runnable = true;

active proctype worker() {
  byte seen;
end_worker: do
  :: atomic { runnable -> runnable = false };
again:
     atomic { seen = arrivals; if :: queue > 0 -> queue--; taken++; goto go_on :: else fi };
     /* The node runs up to its wait. */
     atomic {
#ifdef NO_ARRIVALS
       waiting = true
#else
       if :: arrivals != seen -> goto again :: else -> waiting = true fi
#endif
     };
     goto next;
go_on:
     if :: taken < SENDERS -> goto again :: else -> break fi;
next: skip
  od
}

proctype sender() {
  atomic { queue++; arrivals++;
    if :: waiting -> waiting = false; runnable = true :: else fi }
}

init { byte i; atomic { for (i : 1 .. SENDERS) { run sender() } };
  /* All have sent, and nobody is at work: nothing may be left. */
  atomic { _nr_pr <= 2 && !runnable && waiting -> assert(queue == 0) }
}
