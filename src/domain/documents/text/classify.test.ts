import { describe, expect, test } from 'bun:test';
import { classifyDocument } from './classify.ts';
import { layOut } from './layout.ts';

const kindOf = (text: string) => classifyDocument(layOut(text)).kind;

const POSTINGS: Readonly<Record<string, string>> = {
  'English prose': `Pastry Chef
The Old Mill is a restaurant of sixty seats near Bath. The person we look for makes our bread and desserts and leads one apprentice. You plan the week with the head chef and order what you need. We expect three years in a good kitchen and a calm head in the evening.`,
  'English, two lists and nothing else': `Electrician
Castor Lifts, Cork, Ireland. Permanent.

Essential
- Trade certificate
- Full driving licence

Desirable
- Experience with lifts`,
  'English, need and ask': `Quantity Surveyor
For our office in Derby we need a quantity surveyor. You prepare the tenders, check the accounts and visit the sites.
What we ask for: a degree in surveying, knowledge of NEC contracts. Part-time is possible.`,
  'German prose': `Elektroniker für Betriebstechnik
Für unser Werk in Kassel suchen wir Verstärkung in Vollzeit. Sie warten die Pressen, beheben Störungen und prüfen Anlagen nach DGUV. Sie bringen eine abgeschlossene Ausbildung und Freude an der Technik mit. Das Gehalt liegt bei 3.400 Euro.`,
  'French prose': `Chef de chantier
Pour notre agence de Lille, nous cherchons un chef de chantier en CDI. Vous organisez les équipes, suivez les travaux et veillez à la sécurité. Vous avez une expérience de trois ans dans le bâtiment. Salaire selon profil.`,
  'Spanish prose': `Enfermera de quirófano
Clínica en Valencia necesita una enfermera a jornada completa. Te encargarás de preparar el quirófano y de atender a los pacientes. Se requiere el título de enfermería y dos años de experiencia. Salario según convenio.`,
  'English, applicants': `Lifeguard (seasonal)
Bude Sea Pool. May to September, five days a week. Applicants need the NPLQ and must be over 16. Uniform and training provided. Send a short letter to pool@example.org.`,
};

const CVS: Readonly<Record<string, string>> = {
  'English, an open span': `Owen Pryce
Bus mechanic
Swansea, owen.pryce@example.com
Looks after eighty diesel buses for Bay Transit since 2011: brakes, gearboxes, inspections. City and Guilds level 3.`,
  'English, a telephone number instead of an address': `Rita Colman
Cardiff, +44 7700 900456
Keeps the books of a chain of bakeries, 2013 - present: payroll, VAT, suppliers, year end with the auditor.`,
  French: `Luc Garnier
Nantes, luc.garnier@example.fr
Depuis 2016 chez Atlantique Voiles : coupe, couture et réparation de voiles, accueil des clients. CAP 2015. Français, anglais B2`,
  'of a recruiter': `Nora Blum
Recruiter, Vienna, nora.blum@example.com

Experience
Recruiter, Alpen Personal, 2018 - present
- Wrote job descriptions and requirements, interviewed candidates for full-time and part-time roles
- Negotiated salary and benefits

Education
BA Psychology, University of Vienna, 2014 - 2017`,
  'behind a letter': `Ada Quist
ada.quist@example.com

Dear Mr Lowe,
I am applying for the position of Surveyor.
Yours sincerely,
Ada Quist

CURRICULUM VITAE
Work experience
Surveyor, Landmark Ltd, 2017 - 2022
Assistant, Norden Maps, 2014 - 2017
Education
BSc Geography, Lund University, 2011 - 2014
Skills
AutoCAD, QGIS, levelling`,
};

describe('G-8 a posting is known by an employer that speaks of work to a reader', () => {
  for (const [name, text] of Object.entries(POSTINGS))
    test(name, () => {
      expect(kindOf(text)).toBe('job_posting');
    });
});

describe('G-7 a CV is known by a person and the times of their work', () => {
  for (const [name, text] of Object.entries(CVS))
    test(name, () => {
      expect(kindOf(text)).toBe('cv');
    });

  test('a name and an address without any time stay neither', () => {
    expect(
      kindOf(
        'Owen Pryce\nBus mechanic\nowen.pryce@example.com\nPlease call me back about the brakes of the blue bus, it cannot wait until Monday.',
      ),
    ).toBe('other');
  });
});
