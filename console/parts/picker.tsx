import { type RefObject, useEffect, useRef, useState } from 'react';
import { graphql, type Query } from '../session/graphql.ts';
import { useKeyNames } from '../session/object-names.ts';
import { useQuery, useSettled } from '../session/use-query.ts';
import { Choice, Field } from './form.tsx';
import { Problem } from './page.tsx';

const MEMBERS = graphql(`query($search: String) {
  members(first: 50, search: $search) { nodes { id email } pageInfo { hasNextPage } } }`);
const KEYS = graphql(`query($search: String) {
  apiKeyPage(first: 50, search: $search) { nodes { id name lastFour } pageInfo { hasNextPage } } }`);
const LIVE_KEYS = graphql(`query($search: String) {
  apiKeyPage(first: 50, search: $search, status: LIVE) { nodes { id name lastFour } pageInfo { hasNextPage } } }`);
const MORE = 'There are more than the list shows: type to find others.';

interface Found<Node> {
  readonly [field: string]: {
    readonly nodes: readonly Node[];
    readonly pageInfo: { readonly hasNextPage: boolean };
  };
}

interface PickerProps<Node> {
  readonly label: string;
  readonly name: string;
  /** Has a variable `search` and a connection as its only field. */
  readonly query: Query<Found<Node>, { search?: string | null }>;
  readonly none: string;
  readonly isRequired?: boolean;
  /** The initial choice, which may not be among the first rows. */
  readonly chosen?: { readonly id: string; readonly name: string } | null;
  nameOf(node: Node): string;
}

/** Chooses one of many: a list, and a search if there are more than it shows. */
export function Picker<Node extends { readonly id: string }>(props: PickerProps<Node>) {
  const { label, name, query, none, isRequired = false, chosen = null, nameOf } = props;
  const [search, setSearch] = useState('');
  const [value, setValue] = useState(chosen);
  const place = useRef<HTMLDivElement>(null);
  useReset(place, () => {
    setValue(chosen);
    setSearch('');
  });
  const { data, error, reload } = useQuery(query as Query<Found<Node>, object>, {
    search: useSettled(search),
  });
  const page = data === null ? undefined : Object.values(data)[0];
  const rows = (page?.nodes ?? []).map((node) => ({ id: node.id, name: nameOf(node) }));
  // The name of the initial choice may become known later.
  const current = value !== null && value.id === chosen?.id ? chosen : value;
  const options = current === null || rows.some(({ id }) => id === current.id) ? rows : [current, ...rows];
  const hasMore = page?.pageInfo.hasNextPage === true;
  return (
    <div className="picker" ref={place}>
      <Choice
        label={label}
        name={name}
        required={isRequired}
        value={current?.id ?? ''}
        onChange={(event) => setValue(options.find(({ id }) => id === event.target.value) ?? null)}
      >
        <option value="">{none}</option>
        {options.map((one) => (
          <option key={one.id} value={one.id}>
            {one.name}
          </option>
        ))}
      </Choice>
      {(hasMore || search !== '') && (
        <Field
          label={`Find: ${label.toLowerCase()}`}
          type="search"
          hint={hasMore ? MORE : `${rows.length} found.`}
          value={search}
          maxLength={200}
          onChange={(event) => setSearch(event.target.value)}
        />
      )}
      <Problem error={error} retry={reload} />
    </div>
  );
}

type KeyPickerProps = Pick<PickerProps<never>, 'name' | 'none' | 'isRequired'> & {
  readonly chosenId?: string;
  /** Excludes revoked and expired keys. */
  readonly isLive?: boolean;
};

/** Chooses one of the company's keys, from any number of them. */
export function KeyPicker({ chosenId = '', isLive = false, ...rest }: KeyPickerProps) {
  const keyName = useKeyNames();
  const chosen = chosenId === '' ? null : { id: chosenId, name: keyName(chosenId) };
  return (
    <Picker
      label="Key"
      query={isLive ? LIVE_KEYS : KEYS}
      chosen={chosen}
      nameOf={({ name, lastFour }) => `${name} (…${lastFour})`}
      {...rest}
    />
  );
}

/** Chooses some of the company's members by address; the chosen ones are always among the boxes. */
export function PeopleChecks({
  legend,
  name,
  chosen,
}: {
  legend: string;
  name: string;
  chosen: readonly string[];
}) {
  const [search, setSearch] = useState('');
  const [picked, setPicked] = useState(chosen);
  const { data, error, reload } = useQuery(MEMBERS, { search: useSettled(search) });
  const place = useRef<HTMLFieldSetElement>(null);
  useReset(place, () => {
    setPicked(chosen);
    setSearch('');
  });
  const found = data?.members.nodes.map(({ email }) => email) ?? [];
  const hasMore = data?.members.pageInfo.hasNextPage === true;
  return (
    <fieldset ref={place}>
      <legend>{legend}</legend>
      {(hasMore || search !== '') && (
        <Field
          label="Find people"
          type="search"
          hint={hasMore ? MORE : `${found.length} found.`}
          value={search}
          maxLength={200}
          onChange={(event) => setSearch(event.target.value)}
        />
      )}
      {[...new Set([...picked, ...found])].map((email) => (
        <label className="check" key={email}>
          <input
            type="checkbox"
            name={name}
            value={email}
            checked={picked.includes(email)}
            onChange={(event) =>
              setPicked(event.target.checked ? [...picked, email] : picked.filter((one) => one !== email))
            }
          />
          <span>{email}</span>
        </label>
      ))}
      <Problem error={error} retry={reload} />
    </fieldset>
  );
}

/** Resets React's state too when the form is reset after it was sent. */
function useReset(place: RefObject<HTMLElement | null>, reset: () => void): void {
  const latest = useRef(reset);
  latest.current = reset;
  useEffect(() => {
    const form = place.current?.closest('form') ?? null;
    const onReset = () => latest.current();
    form?.addEventListener('reset', onReset);
    return () => form?.removeEventListener('reset', onReset);
  }, [place]);
}
