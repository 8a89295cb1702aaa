import { describe, expect, test } from 'bun:test';
import { createEmbeddedEngine } from '../../src/domain/documents/embedded-engine.ts';
import { readMarked } from './marked-cvs.ts';
import { TODAY } from './recorded-documents.ts';

const engine = createEmbeddedEngine({});
const nameIn = (text: string) => engine.parseCv(text, TODAY).profile?.basics.name ?? null;

const LATER =
  'Work Experience Network Engineer Northwind Ltd March 2019 to Present keeps the networks of many clients in good order and writes reports ' +
  'about them for the teams that plan the work of the next months Education Bachelor of Science Calder University 2012 to 2015 Skills Linux Python SQL';
/** A CV without line ends that begins with these words. */
const nameInFlat = (top: string) => nameIn(`${top} ${LATER}`);

describe('the name at the top of a CV that has lost its line ends', () => {
  test.each([
    ['Bambang Setiawan Nugroho Quality Assurance Surabaya', 'Bambang Setiawan Nugroho'],
    ['Farhan Siddiqui Ansari Velloor Andhra Pradesh', 'Farhan Siddiqui Ansari'],
  ])('G-7 names of many countries are known: %s', (top, name) => {
    expect(nameInFlat(top)).toBe(name);
  });

  test('G-7 a place alone is no name', () => {
    expect(nameInFlat('Coimbatore Tamil Nadu')).toBeNull();
  });

  test('G-7 an initial behind the name belongs to it, and so does the surname behind an initial', () => {
    expect(nameInFlat('Karthika V Chennai Tamil Nadu')).toBe('Karthika V');
    expect(nameInFlat('Martin K Oberholt Software Engineer Leeds')).toBe('Martin K Oberholt');
  });

  test('G-7 the e-mail address says where the name ends, by whole words and by first letters', () => {
    expect(nameInFlat('Brightwater Marina Ebba Toftlund Skagen ebbatoftlund@example.com')).toBe(
      'Ebba Toftlund',
    );
    expect(nameInFlat('David Brandt Marina dbrandt@example.com')).toBe('David Brandt');
    expect(nameInFlat('Ebba Toftlund Marina Quay toftlunde@example.com')).toBe('Ebba Toftlund');
  });

  test('G-7 the address of a profile says where the name ends, also without its marks', () => {
    expect(
      nameInFlat(
        'Tobin Hesselgrave Pandarkar Velloor indeed.com/r/Tobin-Hesselgrave-Pandarkar/0123456789abcdef',
      ),
    ).toBe('Tobin Hesselgrave Pandarkar');
    expect(
      nameInFlat(
        'Tobin Hesselgrave Pandarkar Velloor httpwwwindeedcomrTobinHesselgravePandarkar0123456789abcdef',
      ),
    ).toBe('Tobin Hesselgrave Pandarkar');
    expect(nameInFlat('Oskar Lindqvarn Vasby oskarlindqvarn84gmailcom')).toBe('Oskar Lindqvarn');
  });

  test('G-7 the name stands behind a label, a heading or other words', () => {
    expect(nameInFlat('Personal Details Candidate Name Farida Quillen Current Address Leeds')).toBe(
      'Farida Quillen',
    );
    expect(nameInFlat('Sample Resume Corin Ashdale 12 Mill Road Leeds')).toBe('Corin Ashdale');
    expect(nameInFlat('Apply now to Tran Thi Kim Lien 12 03 1990 Female')).toBe('Tran Thi Kim Lien');
  });

  test('G-7 in small letters too', () => {
    const text = `tran quoc bao da nang ${LATER} 98220 55512 tqb@example.com`;
    expect(nameIn(text.toLowerCase())).toBe('tran quoc bao');
  });
});

describe('the name on a line of its own', () => {
  const lines = (top: string, rest = 'Software Engineer') =>
    `${top}\n${rest}\n\nExperience\nSoftware Engineer, Northwind Ltd\nMarch 2015 - June 2019\nBuilt services for the warehouses of the company\n`;

  test('G-7 an "M." before it is an initial, and Monsieur in a French text', () => {
    expect(nameIn(lines('M. Terrence Ashdale'))).toBe('M. Terrence Ashdale');
    expect(
      nameIn(
        'M. Julien Moreau\nIngénieur logiciel\n\nExpérience professionnelle\nIngénieur, Northwind SARL\nmars 2015 - juin 2019\nDéveloppement des services pour les entrepôts de la société dans le cadre du projet et avec les équipes\n',
      ),
    ).toBe('Julien Moreau');
  });

  test('G-7 a line that is a name is taken whole, though the e-mail address has only its beginning', () => {
    expect(nameIn(lines('Anna Maria Castell Brandt', 'anna.maria@example.com'))).toBe(
      'Anna Maria Castell Brandt',
    );
  });
});

test('G-7 letters behind the name that stand for degrees and institutions are no part of it', async () => {
  const profile = await readMarked(
    'Mr [name:Desmond Fairchild BEng] CEng MIMechE\ndes.fairchild@example.com\nDerby\n\nWork Experience\nEngineer, Northwind Ltd, 2015 - 2019\n',
  );
  expect(profile?.basics.name).toBe('Desmond Fairchild');
});

describe('the name at the top of a CV with lines', () => {
  const below = `Musterstraße 12, 50667 Köln
Telefon: 0221 1234567

Berufserfahrung
03/2019 – heute
Projektingenieur, Northwind AG, Köln

Ausbildung
2009 – 2014
Hochschule Aachen, Maschinenbau
`;

  test.each([
    ['Jan van den Berg', 'Jan van den Berg'],
    ['María José García-Lorca Fernández', 'María José García-Lorca Fernández'],
    ['Dipl.-Ing. Jörg von der Heyden', 'Jörg von der Heyden'],
    ['MUDr. Jana Dvořáková', 'Jana Dvořáková'],
    ['Anirban Das', 'Anirban Das'],
  ])('G-7 with small words, four words and titles: %s', (top, name) => {
    expect(nameIn(`${top}\n${below}`)).toBe(name);
  });
});
