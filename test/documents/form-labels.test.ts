import { describe, expect, test } from 'bun:test';
import { engine, profileOf, TODAY, unproven } from './recorded-documents.ts';

const GERMAN = `Europass-Lebenslauf

Angaben zur Person
Nachname(n) / Vorname(n)   Reitinger Paula
Adresse(n)   Mozartgasse 7, 8010 Graz (Österreich)
E-Mail   p.reitinger@post.example
Staatsangehörigkeit   Österreich
Geburtsdatum   02.11.1985

Berufserfahrung

Datum   01/2015 - heute
Beruf oder Funktion   Bauleiterin
Wichtigste Tätigkeiten und Zuständigkeiten   Leitung von Baustellen im Hochbau, Abrechnung mit den Kunden, Terminplanung, Auswahl der Firmen, Abnahme der Gewerke
Name und Adresse des Arbeitgebers   Steirische Hochbau GmbH, Industriestraße 12, 8055 Graz
Tätigkeitsbereich oder Branche   Baugewerbe

Datum   07/2009 - 12/2014
Beruf oder Funktion   Bautechnikerin
Name und Adresse des Arbeitgebers   Planbüro Koller, Leoben
Tätigkeitsbereich oder Branche   Planung

Schul- und Berufsbildung

Datum   2004 - 2009
Bezeichnung der erworbenen Qualifikation   Diplom-Ingenieur
Name und Art der Bildungs- oder Ausbildungseinrichtung   Technische Universität Graz
Stufe der nationalen oder internationalen Klassifikation   ISCED 5
`;

const jobsOf = (text: string) =>
  profileOf(text).work.map(({ position, name, startDate, endDate }) => [position, name, startDate, endDate]);

describe('G-7 A-12 forms such as Europass', () => {
  test('labels in cells are no values, and the employer below the duties is that of the job', () => {
    expect(jobsOf(GERMAN)).toEqual([
      ['Bauleiterin', 'Steirische Hochbau GmbH', '2015-01', null],
      ['Bautechnikerin', 'Planbüro Koller', '2009-07', '2014-12'],
    ]);
    const parsed = engine.parseCv(GERMAN, TODAY);
    expect(unproven(GERMAN, parsed.profile, parsed)).toEqual([]);
    const { education, total_months_experience } = profileOf(GERMAN);
    expect(education).toMatchObject([
      { institution: 'Technische Universität Graz', studyType: 'Diplom-Ingenieur', startDate: '2004' },
    ]);
    expect(total_months_experience).toBe(9 * 12 + 6 + 66);
  });
});

test('G-7 what stands right below a heading of studies is a study, also where it names an occupation', () => {
  const { work, education } = profileOf(`Cem Aydın
cem.aydin@post.example

Berufserfahrung
02/2016 – heute: Elektroniker bei Stahlwerk Ruhrtal GmbH, Hagen

Berufsausbildung
09/2006 – 06/2009: Ausbildung zum Elektroniker, Elektro Kampmann, Iserlohn

Schulbildung
1996 – 2006: Realschule Haspe, Hagen`);
  expect(work.map(({ name }) => name)).toEqual(['Stahlwerk Ruhrtal GmbH']);
  expect(education.map(({ institution }) => institution)).toContain('Realschule Haspe');
});
