-- What the calls of a key are for.
alter table api_keys add column project text check (length(project) between 1 and 64);
