-- What the log of calls shows besides, and whom a call was for. All of it may be null and costs a row nothing then:
-- code of the version before neither writes nor reads it.
alter table calls
  -- As the client named it: `user` of the body.
  add column end_user text,
  -- Of the client: sorted, each once.
  add column tags text[],
  -- That of the key when the call began.
  add column project text,
  -- How often a provider was called; null is at most once.
  add column tries integer,
  -- What of the price was charged, in millionths; null is all of it.
  add column charge_share_millionths integer,
  -- What the provider charges for it, in micro-credits; null where that is not configured.
  add column cost_micro bigint,
  -- Null is false for both: the company's own key at the provider; answered from the cache.
  add column own_key boolean,
  add column cache_hit boolean,
  -- The alias that answered where it is not the one that was requested. The price is that of this alias.
  add column served_by text,
  -- Called by a tool of MCP; null is false.
  add column over_mcp boolean,
  -- How many refusals the row is for; null is one.
  add column count integer;
