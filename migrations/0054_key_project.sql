-- Calls by what they are for and by whom, and monthly budgets.

-- What the calls of a key are for, in the company's own words.
alter table api_keys add column project text check (length(project) between 1 and 64);
