-- Records of finished calls on their way to the operator's hook after calls, many in one request: an outbox and its
-- delivery log.

create table call_hook_deliveries (
  -- Grows with time.
  id uuid primary key,
  calls integer not null check (calls between 1 and 1000),
  -- What the hook gets, byte by byte. Emptied at the end: the records themselves are in `calls`.
  payload text check (octet_length(payload) <= 4194304),
  state text not null default 'WAITING' check (state in ('WAITING', 'DELIVERED', 'FAILED')),
  attempts integer not null default 0 check (attempts >= 0),
  -- Of the last attempt.
  http_status integer,
  error text check (char_length(error) <= 500),
  duration_ms integer,
  -- A process sends it until then; afterwards any other may.
  next_attempt_at timestamptz not null,
  created_at timestamptz not null,
  settled_at timestamptz,
  check ((state = 'WAITING') = (settled_at is null)),
  check ((state = 'WAITING') = (payload is not null))
);

create index call_hook_deliveries_due on call_hook_deliveries (next_attempt_at) where state = 'WAITING';
create index call_hook_deliveries_age on call_hook_deliveries (created_at);
