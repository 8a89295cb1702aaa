import { describe, expect, test } from 'bun:test';
import { engine, TODAY } from './recorded-documents.ts';

/** Texts that share words with CVs or postings: people, dates, positions, pay, "requirements", "we are looking for". */
const NEITHER: Readonly<Record<string, string>> = {
  'a cover letter': `Laura Finch
12 Mill Lane, York
laura.finch@example.com, +44 7700 900123

Dear Ms Osborne,

I am applying for the position of Accountant that you advertised last week. From 2016 to 2021 I worked as an accountant at Dale Foods, where I was responsible for the month-end closing. My current employer is moving abroad. I would be glad to tell you more in an interview.

Yours sincerely,
Laura Finch`,
  'a German cover letter': `Jens Albrecht
jens.albrecht@example.de

Bewerbung als Lagerleiter

Sehr geehrte Frau Kramer,

mit großem Interesse habe ich Ihre Anzeige gelesen. Von 2015 bis 2020 war ich Lagerleiter bei der Nordkorn GmbH und führte dort zwanzig Leute. Über eine Einladung zum Gespräch freue ich mich.

Mit freundlichen Grüßen
Jens Albrecht`,
  'a French cover letter': `Claire Morel
claire.morel@example.fr

Madame, Monsieur,

Votre annonce pour un poste de comptable a retenu toute mon attention. De 2014 à 2019, j'ai travaillé comme comptable chez Durand. Mon profil correspond à vos missions.

Je vous prie d'agréer, Madame, Monsieur, l'expression de mes salutations distinguées.
Claire Morel`,
  'a refusal to an applicant': `Dear Mr Hale,

Thank you for your application for the role of Site Manager. You have a strong profile and your skills are impressive. We are looking for somebody with more years in house building, and must tell you that we have decided for another candidate. We keep your application for six months.

Kind regards,
Caldwell Building, Human Resources`,
  'an offer of employment': `Dear Priya,

We are pleased to offer you the position of Data Analyst, full-time, from 1 March 2024. Your salary will be 42,000 per annum. You will report to the Head of Analytics, and you will have 28 days of holiday. Please sign and return one copy.

Yours sincerely
Tom Birch, Managing Director`,
  'a reference': `To whom it may concern

Ms Edith Vane worked as a nurse on our ward from 2012 to 2019. She was responsible for eight patients a shift, implemented our new handover and led a team of four. We wish her all the best.

Dr. Paul Renner, Senior Consultant, +44 20 7946 0018`,
  'a German certificate of employment': `Arbeitszeugnis

Frau Sabine Koch, geboren am 4. Mai 1985, war vom 01.03.2014 bis zum 31.12.2021 als Buchhalterin in unserem Unternehmen tätig. Zu ihren Aufgaben gehörten die Kontenabstimmung und der Monatsabschluss. Sie verlässt uns auf eigenen Wunsch.

Köln, 31.12.2021, Rheinmetallbau AG, Personalabteilung`,
  'an employment contract': `Employment contract

between Greenfield Dairy Ltd (hereinafter "the Employer") and Mark Doyle (hereinafter "the Employee")

1. Position: The Employee is employed full-time as Production Manager from 1 May 2023.
2. Duties: The Employee shall carry out the duties assigned by the Employer.
3. Salary: EUR 3,900 a month. 4. Holiday: 25 days. 5. Notice: three months.`,
  'a German employment contract': `Arbeitsvertrag

zwischen der Fruchthof KG, nachfolgend Arbeitgeber, und Herrn Peter Lang, nachfolgend Arbeitnehmer

§ 1 Der Arbeitnehmer wird ab dem 01.06.2023 als Disponent in Vollzeit eingestellt. Seine Aufgaben ergeben sich aus der Stellenbeschreibung.
§ 2 Das Gehalt beträgt 3.200 Euro monatlich, unbefristet.`,
  "a freelancer's invoice": `Miriam Stone
Web developer
miriam@stone.example, +1 415 555 0134

Invoice No. 2024-031
Service period: 1 March 2024 - 31 March 2024
Developed the shop, 32 hours at 80.00
Managed the servers, 4 hours at 80.00
Amount due: 2,880.00 within 14 days`,
  'an Italian invoice': `Fattura n. 118 del 12/04/2024
Studio Bianchi, Partita IVA 01234567890, Milano
Consulenza informatica, periodo 01/03/2024 - 31/03/2024, tempo pieno
Imponibile 3.200,00 IVA 22% 704,00 Totale 3.904,00`,
  'a recipe': `Potato gratin
You will need: a kilo of potatoes, cream, garlic, nutmeg. Essential: a sharp knife. Nice to have: a mandoline.
You peel and slice the potatoes, you rub the dish with garlic, and you bake it for an hour.`,
  'a Spanish recipe': `Tortilla de patatas
Ingredientes: cuatro huevos, medio kilo de patatas, una cebolla, aceite y sal.
Pela las patatas y córtalas finas. Fríelas despacio, mézclalas con los huevos y cuaja la tortilla por los dos lados. Ofrecemos dos variantes más abajo.`,
  'a news article': `Chief executive of Northern Rail steps down
Helen Marsh, who was chief executive from 2015 to 2023, told staff on Monday. She developed the night network, managed two strikes and led a merger. The company is looking for a successor; the board said that candidates with experience in freight are preferred.`,
  'a French news article': `Les boulangers manquent de bras
Dans la région, les artisans cherchent des apprentis. « Nous recherchons depuis 2021 un boulanger à temps plein, sans succès », dit Paul Lenoir, patron depuis 2009. Selon la chambre des métiers, mille emplois restent vacants.`,
  'a readme': `# Fast task manager

A command line manager for tasks.

## Requirements
- Node.js 20, Docker
- 2 GB of memory are required

## Installation
You will need git. Run npm install and you are done.

## Contributing
Join us on the forum. We are looking for maintainers.

## License
MIT`,
  'source code': `import { Engineer } from './engineer';

// You must call this first; the role is required.
export function hire(engineer: Engineer, salary: number) {
  const requirements = ['sql', 'python'];
  if (!engineer.skills.every((s) => requirements.includes(s))) {
    return null;
  }
  return { engineer, salary: salary * 12, since: 2015 };
}`,
  'a list of features': `Booking portal, release 2

Must have
- Login with e-mail
- Export to Excel
- PostgreSQL 15

Nice to have
- Dark mode
- Python client

You will find the drawings in the appendix.`,
  'a poem': `The Driver
You have the road and you are the road,
you will not turn before the sea;
the engineer of dust and load
has left the wheel to you and me.`,
  'minutes of a meeting': `Minutes of the staff meeting, 4 March 2024
Attendees: Anna Berg (manager), Jon Falk (engineer), Li Wen (analyst)
1. Hiring: we are looking for a second nurse, full-time; Anna writes the posting.
2. Budget 2024 - 2025: Jon presented the figures.
Action items: Anna sends the draft by Friday. You will get the slides by e-mail.`,
  'German minutes': `Protokoll der Teamsitzung vom 12.03.2024
Teilnehmer: Frau Berg, Herr Falk, Herr Wen
TOP 1 Personal: Wir suchen weiterhin einen Elektriker in Vollzeit. Frau Berg schreibt die Anzeige.
TOP 2 Urlaub 2024 - 2025: Die Liste liegt aus.`,
  'a rental advertisement': `Bright flat for rent, Leeds
We are looking for a quiet tenant from May. You have a steady salary and references. Two rooms, 64 square metres, garden. Essential: no smoking. Desirable: a long stay. Apply by e-mail to flat@example.com.`,
  'the description of a course': `Project management for beginners
In this course you will learn to plan, to lead and to report. Requirements: none. What you need: a laptop. Benefits: a certificate, 12 hours of video, access for a year. Join us today!`,
  'an Italian letter': `Gentile signora Ferri,

la ringraziamo per il suo ordine del 3 marzo 2024. Purtroppo il responsabile del magazzino ci comunica che la merce arriverà in ritardo. Le offriamo uno sconto del dieci per cento.

Cordiali saluti
Marco Neri, marco.neri@example.it, dal 2012 al suo servizio`,
  'a Spanish letter of complaint': `Estimados señores:

Soy cliente desde 2014 y nunca había tenido problemas. El 5 de mayo su técnico no se presentó. Les ruego que me devuelvan el importe según los requisitos del contrato.

Atentamente,
Rosa Gil, rosa.gil@example.es`,
  'terms of use': `Terms of use
You must be 18 to use the service. You are responsible for your password. We offer the service as it is. Requirements: a current browser. Apply for an account by e-mail.`,
  'a biography': `Robert Hale (1839 - 1912) was a Scottish engineer. He studied in Glasgow, worked as a surveyor from 1860 to 1869 and designed four bridges. He managed the Dunmore works.`,
  'a German message to colleagues': `Betreff: Urlaub
Hallo zusammen,
ich bin vom 03.06.2024 bis 14.06.2024 im Urlaub. Vertretung macht Anna (Teamleiterin, anna@example.de). Wir suchen noch jemanden für den Telefondienst in Teilzeit.
Gruß, Tom`,
  'a quarterly report': `Quarterly report
The company employs 320 staff, 40 of them part-time. We are hiring in Leeds. Salary costs rose by 4 %. The managing director, in office since 2018, expects growth in 2024 - 2025. Responsible for the contents: press@example.com`,
  'French instructions': `Mode d'emploi
Vous branchez l'appareil, vous appuyez sur le bouton et vous attendez. Nous proposons une garantie de deux ans. Avant de commencer : vous avez besoin d'un tournevis.`,
  'the summary of a talk': `Tom Reed
tom.reed@example.com
Conference talk: How we moved to Rust, 2019 - 2023. You will see graphs, mistakes and a happy end. Thirty minutes and questions.`,
  'advice on a trade': `How to become a project manager
Many people ask what a project manager does. You will need patience. Experience in leading teams helps, and a certificate is a plus. In this article we look at salaries: 60,000 on average.`,
  'a reference of a program': `API reference
Responsibilities of the manager class: it owns the pool. Requirements: Python 3.11 or later. You must call close(). Experience shows that pools of ten are enough. Nice to have: uvloop.`,
};

describe('what is neither a CV nor a posting is called neither', () => {
  for (const [name, text] of Object.entries(NEITHER))
    test(`G-7 G-8 ${name}`, () => {
      expect(engine.parseCv(text, TODAY).document.kind).toBe('other');
      expect(engine.parsePosting(text).posting).toBeNull();
    });
});
