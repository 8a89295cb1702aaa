import { beforeAll, describe, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { givenChromium } from '../services/given.ts';
import { useResource } from '../setup/use-resource.ts';
import { type BrowserSystem, logIn, openBrowserSystem, type Visitor } from './browser-system.ts';
import { fillCompany } from './filled-company.ts';
import { moveTo, settled } from './page-checks.ts';
import { COMPANY, DOORS, SYSTEM, singlePages } from './page-lists.ts';

interface PageWalk {
  enter(person: { email: string; password: string } | null, path?: string): Promise<Visitor>;
  readonly world: BrowserSystem;
}

/** Every page of every person in one tab each: `look` is called on each, once it has loaded. */
export function walkPages(
  title: string,
  look: (page: Page, path: string, who: string, isFirst: boolean) => Promise<void>,
  others: (walk: PageWalk) => void = () => {},
): void {
  describe.skipIf(givenChromium() === null)('the pages', () => {
    let single: readonly string[] = [];

    const world = useResource(() => openBrowserSystem());
    beforeAll(async () => {
      // With something in every list: empty pages prove little.
      single = singlePages(await fillCompany(world.demo));
    });

    async function enter(person: { email: string; password: string } | null, path = '/'): Promise<Visitor> {
      const visitor = await world.visit();
      if (person === null) await visitor.page.goto(path);
      else await logIn(visitor.page, person, path);
      return visitor;
    }

    const rows = [
      ['a visitor who is not logged in', () => DOORS, () => null],
      ['a company admin', () => [...COMPANY, '/profile', '/nowhere'], () => world.demo.company_admin],
      ['a company admin, of one thing each,', () => single, () => world.demo.company_admin],
      ['a super admin', () => SYSTEM, () => world.demo.super_admin],
    ] as const;
    test.each(rows)(`of %s are ${title}`, async (who, pathsOf, person) => {
      const paths = pathsOf();
      const { page, complaints, close } = await enter(person(), paths[0]);
      for (const [at, path] of paths.entries()) {
        if (at > 0) await moveTo(page, path);
        await settled(page);
        await look(page, path, who, at === 0);
      }
      expect(complaints).toEqual([]);
      await close();
    });

    others({ enter, world });
  });
}
