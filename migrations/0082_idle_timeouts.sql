-- How long a target may be silent within its answer. Null: as the gateway is configured.
alter table model_targets
  add column idle_timeout_ms integer check (idle_timeout_ms between 1 and 3600000);
