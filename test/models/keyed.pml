/* A keyed call: attempts are made again with the same key. One of them may be refused after another
   was unknown. It has failed for certain only if every attempt did.

   Holds: a call that is on record as failed has not landed, and does not land later.
   Mutant, must be violated: LAST_ATTEMPT. */
#ifndef A
#define A 3
#endif
mtype = { pending, done, failed };
mtype state = pending;
bool landed, unknown, wire;
byte attempts;

active proctype worker() {
end_worker: do
  :: attempts < A && state == pending -> attempts++;
     if
     :: atomic { landed = true; state = done }
     :: atomic { landed = true; unknown = true }   /* its answer was lost */
     :: atomic { unknown = true }                  /* it was lost on its way */
     :: atomic { wire = true; unknown = true }     /* it is still on its way */
     :: atomic {                                   /* refused */
#ifdef LAST_ATTEMPT
          state = failed;
#else
          if :: unknown -> skip :: else -> state = failed fi;
#endif
          assert(state != failed || !landed) }
     fi
  :: else -> break
  od
}

active proctype world() {
end_world: do
  :: atomic { wire -> wire = false; landed = true; assert(state != failed) }
  od
}
