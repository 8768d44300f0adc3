/* One unsafe call and its attempts. A tool's function runs in a process, but not under the worker's
   control: it goes on after a doubt, a timeout or a lost lease. What it sent is on the wire after
   its process has died. A person says "it did not happen" only when every attempt has ended and the
   quiet time is over; what is learnt late is written by attempt, and voids a grant not yet used.

   With HASTY the person may say so once without a look. Then a second effect is theirs; but nothing
   is sent on a grant once it is known that the call had landed.
   Mutants, each must be violated: NO_PROOF, NO_QUIET, SPLIT_GRANT; BY_KEY and NO_VOID, with
   HASTY. */
#ifndef W
#define W 2
#endif
#ifndef FAULTS
#define FAULTS 1
#endif
#define A 3
mtype = { none, pending, asked, granted, done, failed };
mtype state = none;
byte attempts, effects, fence, holder = W, crashes = FAULTS, expiries = FAULTS, hasty, version;
bool wrong, grant_used;
/* Of each attempt: it has not ended (from its intent on), its function was started, its bytes are on
   the wire, it has landed, it was refused, it is on record that it landed; and who made it. */
bool running[A + 1], started[A + 1], wire[A + 1], landed[A + 1], refused[A + 1], known[A + 1];
byte by[A + 1];

#define OVER (state == done || state == failed)
#ifdef NO_PROOF
#define ENDED(k) true
#else
#define ENDED(k) (!running[k])
#endif
#ifdef NO_QUIET
#define QUIET(k) ENDED(k)
#else
#define QUIET(k) (ENDED(k) && !wire[k])
#endif
#ifdef NO_PROOF
#define PROVEN true
#else
#define PROVEN (QUIET(1) && QUIET(2) && QUIET(3))
#endif
#define ANY_KNOWN (known[1] || known[2] || known[3])

proctype worker(byte me) {
  byte mine, a;
again:
  if
  :: atomic { OVER -> goto end_worker }
  :: atomic { holder == W && (state == none || state == pending || state == granted) ->
       fence++; mine = fence; holder = me }
  fi;
  if
  :: atomic { (state == none || state == granted) && attempts < A ->
       if
       :: fence != mine -> goto leave
       :: else ->
          if :: state == granted -> assert(!ANY_KNOWN) :: else fi;
          attempts++; a = attempts; by[a] = me; running[a] = true; version++;
#ifdef SPLIT_GRANT
          /* The intent first; that the grant is used comes with a later commit. */
          if :: state == granted -> grant_used = false :: else -> state = pending fi
#else
          state = pending
#endif
       fi }
  :: atomic { state == pending -> if :: fence == mine -> state = asked; version++ :: else fi;
       goto leave }
  :: else -> goto leave
  fi;
  if
  :: atomic { started[a] = true }
  :: atomic { running[a] = false; goto leave }  /* the answer was lost: never sent */
  :: atomic { crashes > 0 -> crashes--; goto dead }
  fi;
#ifdef SPLIT_GRANT
  if
  :: atomic { fence == mine && state == granted -> state = pending }
  :: atomic { state != granted -> skip }
  :: atomic { crashes > 0 -> crashes--; goto dead }
  fi;
#endif
  if
  :: atomic { landed[a] && running[a] -> running[a] = false;
       if :: fence == mine && state == pending -> state = done; version++; goto leave
          :: else -> goto late fi }
  :: atomic { refused[a] && running[a] -> running[a] = false;
       if :: fence == mine && state == pending && a == attempts -> state = failed; goto leave
          :: else -> goto leave fi }
  :: atomic { fence == mine -> if :: state == pending -> state = asked; version++ :: else fi;
       goto leave }  /* its time is over: a doubt, and the function runs on */
  :: atomic { fence != mine -> goto again }
  :: atomic { crashes > 0 -> crashes--; goto dead }
  fi;
late:
  atomic { known[a] = true; version++;
    if :: state == asked -> state = done
#ifndef NO_VOID
       :: state == granted -> state = done
#endif
       :: else fi };
leave:
  atomic { if :: holder == me && fence == mine -> holder = W :: else fi };
  goto again;
dead:
  atomic { byte k; for (k : 1 .. A) { if :: by[k] == me -> running[k] = false :: else fi };
    if :: holder == me && fence == mine -> holder = W :: else fi };
  goto again;
end_worker: skip
}

/* A function that nobody waits for any more reports by its attempt. */
active proctype reports() {
  byte k;
end_reports: do
  :: atomic { (state == asked || state == granted || state == pending) ->
       if :: running[1] && landed[1] -> k = 1 :: running[2] && landed[2] -> k = 2
          :: running[3] && landed[3] -> k = 3 fi;
       if
       :: state == asked || (state == granted) ->
          running[k] = false; known[k] = true; version++;
          if :: state == asked -> state = done
#ifndef NO_VOID
             :: state == granted -> state = done
#endif
             :: else fi
       :: else fi }
  :: atomic { state == asked ->
       if :: running[1] && refused[1] -> k = 1 :: running[2] && refused[2] -> k = 2
          :: running[3] && refused[3] -> k = 3 fi;
       running[k] = false; version++;
#ifdef BY_KEY
       state = failed; assert(k == attempts)
#else
       /* The others may have landed: only if this was the only one left is the call refused. */
       if :: attempts == 1 -> state = failed; assert(effects == 0) :: else fi
#endif
     }
  od
}

/* Functions send, upstreams act or refuse. */
active proctype world() {
  byte k;
end_world: do
  :: atomic { if :: running[1] && started[1] && !wire[1] && !landed[1] && !refused[1] -> k = 1
                 :: running[2] && started[2] && !wire[2] && !landed[2] && !refused[2] -> k = 2
                 :: running[3] && started[3] && !wire[3] && !landed[3] && !refused[3] -> k = 3 fi;
       if :: wire[k] = true :: refused[k] = true fi }
  :: atomic { if :: wire[1] -> k = 1 :: wire[2] -> k = 2 :: wire[3] -> k = 3 fi;
       wire[k] = false; landed[k] = true; effects++;
       assert(effects <= 1 || wrong); assert(state != failed || wrong) }
  od
}

active proctype time() {
end_time: do
  :: atomic { holder != W && expiries > 0 -> expiries--; holder = W }
  od
}

active proctype person() {
  byte seen, looked;
end_person: do
  :: atomic { state == asked && PROVEN -> seen = effects; looked = version };
     atomic { if :: version != looked || state != asked -> skip
                 :: else -> version++;
                    if :: seen == 0 && attempts < A -> state = granted :: else -> state = done fi fi }
#ifdef HASTY
  :: atomic { state == asked && hasty < 1 -> hasty++; wrong = true; version++; state = granted }
#endif
  od
}

init { byte i; atomic { for (i : 0 .. W - 1) { run worker(i) } } }
