/* A run of S unsafe steps, W workers. A holder writes the intent under its fence, sends, writes the
   receipt under its fence. A step whose intent has no receipt is put before a person, who may send it
   once more, when every attempt has ended. Budgets for crashes and for leases that end too early
   (a process that stood still). Here a death also ends the effect: attempts.pml is about the rest.

   Holds: an unsafe effect at most once; a receipt is true.
   Mutants, each must be violated: NO_INTENT, NO_GUARD, SENT_AGAIN, NO_PROOF. */
#ifndef W
#define W 2
#endif
#ifndef S
#define S 2
#endif
#ifndef FAULTS
#define FAULTS 1
#endif
#define FREE W
mtype = { none, intent, done, asked };
mtype step[S] = none;
byte at, effects[S], fence, holder = FREE, crashes = FAULTS, expiries = FAULTS, grants = 2;
byte sending[W];  /* the step that a worker may still send, plus one */
bool orphan;

#define STALE (fence != mine)
#define OVER (at == S || step[at] == asked)
#define MAY_DIE if :: true :: atomic { crashes > 0 -> crashes-- }; goto dead fi

proctype worker(byte me) {
  byte mine, s;
again:
  if
  :: atomic { at == S -> goto end_worker }
  :: atomic { holder == FREE && !OVER -> fence++; mine = fence; holder = me; s = at }
  fi;
  MAY_DIE;
  if
  :: step[s] == none -> skip
#ifdef SENT_AGAIN
  :: step[s] == intent -> sending[me] = s + 1; goto send
#else
  :: step[s] == intent ->
     atomic { if :: STALE || at != s || step[s] != intent -> skip :: else -> step[s] = asked fi };
     goto leave
#endif
  :: step[s] == done || step[s] == asked -> goto leave
  fi;
#ifndef NO_INTENT
  MAY_DIE;
  atomic {
#ifdef NO_GUARD
    step[s] = intent; sending[me] = s + 1
#else
    if
    :: STALE || at != s || step[s] != none -> goto leave
    :: else -> step[s] = intent; sending[me] = s + 1
    fi
#endif
  };
  /* The answer may be lost: the row is there, and nothing is sent on the strength of it. */
  if :: true :: true -> goto leave fi;
#endif
send:
  MAY_DIE;
  atomic { effects[s]++; sending[me] = 0; assert(effects[s] <= 1) };
  MAY_DIE;
  atomic {
#ifndef NO_GUARD
    if :: STALE || at != s -> goto leave :: else fi;
#endif
    if :: at == s -> assert(effects[s] == 1); step[s] = done; at++ :: else fi
  };
  MAY_DIE;
leave:
  atomic { sending[me] = 0; if :: holder == me && fence == mine -> holder = FREE :: else fi };
  goto again;
dead:
  atomic { sending[me] = 0; if :: holder == me && fence == mine -> orphan = true :: else fi };
  goto again;
end_worker: skip
}

active proctype time() {
end_time: do
  :: atomic { orphan && holder != FREE -> holder = FREE; orphan = false }
  :: atomic { holder != FREE && expiries > 0 -> expiries--; holder = FREE; orphan = false }
  od
}

#ifdef NO_PROOF
#define ALL_ENDED true
#else
#define ALL_ENDED (sending[0] != at + 1 && sending[1] != at + 1 && sending[W - 1] != at + 1)
#endif

active proctype person() {
  byte seen;
end_person: do
  :: atomic { at < S && step[at] == asked && ALL_ENDED -> seen = effects[at] };
     atomic {
       if
       :: seen == 0 && grants > 0 -> grants--; step[at] = none
       :: else -> step[at] = done; at++
       fi
     }
  od
}

init { byte i; atomic { for (i : 0 .. W - 1) { run worker(i) } } }
