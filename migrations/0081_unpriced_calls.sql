-- The fields and tools of a call for which its provider reported a cost that no price covers. Null for nearly every call.
alter table calls add column unpriced text[];
create index calls_unpriced on calls (started_at) where unpriced is not null;
