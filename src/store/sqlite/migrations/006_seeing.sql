-- Metrics find takeovers, and effects known to have happened twice, without reading the history of
-- every run. Only the few events of these kinds are in the indexes.
create index events_lately on events (namespace, at)
  where kind in ('taken_over', 'lease_lost', 'evidence_conflict');
create index events_resumes on events (namespace, run_id)
  where kind in ('taken_over', 'lease_lost');
