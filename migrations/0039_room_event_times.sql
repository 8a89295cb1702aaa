-- Events of the meeting server whose time cannot be right, or that arrive long after it, are recorded and flagged.

alter table room_events
  -- What was wrong with the times that were sent; empty for nearly all events.
  add column time_flags text[] not null default '{}'
    check (time_flags <@ array['old_timestamp', 'future_timestamp', 'inconsistent_times']),
  -- The time as it was sent, where happened_at is the time of receipt instead.
  add column sent_at timestamptz;
