-- revision: 1
-- Owner: src/domain/stored-responses
--
-- Deletes the responses of a company that was deleted: a foreign key would lock and look up the company for every response.
create or replace function delete_responses_of_company() returns trigger language plpgsql as $$
begin
  delete from stored_responses where company_id = old.id;
  return null;
end
$$;
