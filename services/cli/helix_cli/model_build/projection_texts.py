"""Texts on whose tokens `token_projection` is fitted, beside those of `sample_texts`: one a line.

They cover what people tell an agent and ask it: work, home, health, money, travel, code, logs, facts. Written
for this purpose.
"""

from __future__ import annotations

from typing import Final

_LINES: Final = """
Could you move my physiotherapy from Thursday to the week after?
I start at the bakery on the first of September and my shift begins at four in the morning.
Grandma keeps the spare key under the third flower pot, not the second one any more.
The plumber said the valve is fine, it's the washing machine hose that leaks.
We adopted a grey cat from the shelter and named her Biscuit.
My new phone number ends in 4417, please use that one from now on.
I can't eat shellfish since that evening in Marseille.
Remember that Tobias is allergic to walnuts, so no brownies for his birthday.
Yes, the green one with the wooden handle.
No, I said the fourteenth, not the fortieth.
How old was Lena when she broke her arm?
Which dentist did Martin recommend to us last spring?
What did I pay for the winter tyres?
Did we ever hear back from the landlord about the mould in the bathroom?
Who is picking up the twins from judo today?
When does my passport expire, and where did I put the old one?
My sister works as a nurse on the children's ward and has night shifts until Sunday.
I used to run ten kilometres before breakfast, now I swim twice a week because of my knee.
We have decided against the Spanish course and for the pottery class.
Dad turned seventy on Saturday, all six grandchildren came.
He proposed to her in the rain, right in front of the cinema where they met.
The recipe calls for two hundred grams of flour, three eggs and a pinch of nutmeg.
If it rains on Sunday we'll go to the museum of clocks instead.
I sold the old piano to a music teacher from Leeds for three hundred pounds.
The tomatoes on the balcony have brown spots again, like last August.
Our neighbour feeds the fish while we are in Norway.
I switched from coffee to green tea in January and sleep much better.
Mum's hip operation went well, she comes home on Tuesday.
The choir sings Brahms in the church of Saint Mary on the second Sunday of Advent.
Please don't call me before nine, I write in the mornings.
I lost my wallet on tram number eleven between the station and the university.
My favourite author is Ursula Le Guin, I have read the Earthsea books four times.
They moved from Rotterdam to a farmhouse near Ghent with two dogs and a loom.
The children like the red tent better than the hotel.
I play the second violin in an amateur orchestra that rehearses on Wednesdays.
Let's meet at the fountain at a quarter past six.
My doctor raised the dose to fifty milligrams, one tablet after dinner.
The blood test showed low iron and a normal thyroid.
Patient in bed four was moved to cardiology after the second episode of chest pain.
She has type one diabetes and wears a pump.
Blood pressure this morning was 142 over 91, pulse 78.
The vaccine needs a second shot after four weeks.
Wound care: rinse with saline, no alcohol, change the dressing every other day.
Our health insurance covers glasses up to one hundred and fifty euros every two years.
The rent rises by three per cent in April.
I transferred the deposit for the flat, 2,400 euros, with reference 7718.
Cancel the gym membership before the end of the quarter or it renews for a year.
The tax office wants the receipts for the home office since 2021.
Our mortgage is fixed at 1.9 per cent until June 2029.
Salaries are paid on the twenty-fifth, bonuses in March.
I invested half of the inheritance in a world index fund and kept the rest as cash.
The electricity bill doubled although we bought a new fridge.
Budget for the kitchen: eight thousand for cupboards, two for the oven and hob.
The flight to Reykjavik leaves at 06:55 from terminal B.
We missed the connection in Lyon and took the night bus to Turin.
The guest house has no lift, so book the ground floor for Aunt Vera.
Train tickets are cheaper if you book six weeks ahead.
I left my jacket in the rental car, a white Fiat with a dent.
The trail from the pass to the hut takes five hours and has one ladder.
In Kyoto we stayed near the river and ate noodles every night.
Visa application number 55-20931 was approved on Monday.
The ferry is cancelled above wind force eight.
Carry the tripod in the hand luggage, the drone stays at home.
I grew up in Cork, studied in Edinburgh and have lived in Vienna for nine years.
My native language is Tamil, I speak English at work and some German.
We will name the baby Frida if it is a girl.
I am training for the half marathon in Porto in October.
My best time over five kilometres is twenty-four minutes and ten seconds.
The football club lost three to one against the neighbours and fired the coach.
Chess on Monday, badminton on Friday, nothing on Wednesday.
He repairs old radios and collects maps of the Baltic coast.
The workshop smells of linseed oil, we finished the oak table yesterday.
Use the japanese saw for dovetails, the western one tears the grain.
The dovetail drawer front needs eighteen millimetre beech.
We insulated the attic with wood fibre and replaced four windows.
The boiler shows error E9 and starts again after a reset.
Solar panels on the shed roof give about three kilowatts at noon.
The bees swarmed on the tenth of May into the pear tree.
Sow the carrots between the onions, it keeps the flies away.
Frost killed the apricot blossoms, so no jam this year.
The hens lay five eggs a day since we changed the feed.
The quarterly review moved from room 12 to the canteen because of the water damage.
Please send the minutes to everyone who was invited, not only to those who came.
Action item: Farid asks legal about the retention period by Friday.
We agreed that support answers within four hours on working days.
The customer wants a refund because the second parcel never arrived.
Order 88213 was shipped to the old address in Bristol.
Ingrid takes over the key account from Pavel on the first of the month.
The offer is valid for thirty days and excludes installation.
Marketing prefers the blue logo, sales the orange one, nobody likes the grey one.
The interview panel liked the second candidate for her questions about on-call.
I will be on parental leave from November until the end of April.
Our company was founded in a garage in Aarhus in 1998 by two sisters.
The contract with the cleaning firm ends in December unless we extend it.
New colleagues get a laptop, a badge and a buddy on their first day.
The works council has to agree before we install cameras in the warehouse.
Travel expenses need a receipt above twenty euros.
The keynote is at ten, the panel on privacy starts after lunch.
The printer on the third floor jams when you use recycled paper.
Stock of size 42 boots is down to six pairs, reorder at ten.
The audit found two missing signatures and one invoice without a date.
We raised the price of the basic plan from nine to eleven dollars.
Churn fell after the new onboarding, but only for small teams.
Please always answer in bullet points and keep code examples short.
From now on write dates as day, month, year.
I prefer window seats, vegetarian meals and early trains.
Stop suggesting podcasts, I never listen to them.
Don't use emojis in messages to customers.
She likes her tea with lemon and without sugar.
He hates surprises, so tell him about the party.
I'd rather read on paper than on a screen.
My goal for this year is to finish the thesis and learn to ski.
Someday I want to see the northern lights from a boat.
We were going to paint the hall yellow, but it looked like custard.
It was much colder than the forecast said.
I think the film was too long, though the music was wonderful.
Honestly, the second season is a waste of time.
That joke about the penguin still makes me laugh.
I felt sick after the ride and sat on a bench for an hour.
The fire alarm went off twice, it was the toaster both times.
Somebody scratched the left door while we were at the theatre.
The power went out at nine and came back around midnight.
I'm worried about the exam on organic chemistry.
Sorry, I forgot to send the photos from the wedding.
Congratulations on the new job, when do you start?
Good night, talk to you tomorrow.
Sure, go ahead.
Not yet, maybe after the holidays.
Both of them, please.
Deploys to production need two approvals and a green pipeline.
The payment service times out when the connection pool is exhausted.
We moved the session store from Redis to Postgres because of the failover problems.
Set the retry limit to three and back off exponentially with jitter.
The memory leak came from a listener that was never removed.
Rotate the access tokens every ninety days and store them in the vault.
Node 7 was drained, patched and returned to the cluster at 02:40.
The feature flag new_checkout is on for ten per cent of users in Canada.
Rename the column user_name to login and keep a view with the old name for one release.
Pin numpy below 3 until the extension is rebuilt.
Use structured logging with a request id in every service.
We chose gRPC between services and plain JSON for partners.
The index on created_at made the report forty times faster.
Backups run at one in the morning and are restored to a test host every Sunday.
The certificate of the mail gateway expires on 30 November.
Kafka keeps the orders topic for seven days, the audit topic for a year.
The parser drops trailing commas since version 2.4.1.
Tests in test_invoice.py are flaky on Windows because of the path separator.
The mobile app crashes on start when the locale is Turkish.
git rebase --onto main feature~3 feature keeps only the last three commits.
docker run --rm -p 8080:80 -v $PWD/site:/usr/share/nginx/html nginx:1.27
kubectl rollout undo deployment/api --to-revision=14
ssh deploy@10.0.4.17 'sudo systemctl restart worker.service'
ALTER TABLE orders ADD COLUMN shipped_at timestamptz;
UPDATE accounts SET status = 'closed' WHERE last_login < now() - interval '2 years';
CREATE INDEX CONCURRENTLY idx_events_tenant ON events (tenant_id, occurred_at DESC);
import pandas as pd; frame = pd.read_csv(path, parse_dates=["day"]).set_index("day")
for (const item of cart.items) { total += item.price * item.quantity; }
const response = await fetch(`/api/v1/users/${id}`, { headers: { Accept: "application/json" } });
async def handle(request): return web.json_response({"ok": True})
if err != nil { return fmt.Errorf("open config: %w", err) }
public static void main(String[] args) { System.out.println("ready"); }
raise ValueError(f"unknown mode {mode!r}, expected one of {sorted(MODES)}")
class Stack<T> { private items: T[] = []; push(item: T) { this.items.push(item); } }
let words = text.split_whitespace().map(str::to_lowercase).collect::<Vec<_>>();
select(.level == "error") | {time, message, trace_id}
export PATH="$HOME/.local/bin:$PATH"
WARN [pool-2-thread-9] c.e.billing.InvoiceJob - skipped 14 invoices without currency
2025-03-30 01:59:58,114 INFO gc pause 412 ms, heap 3.1 of 4.0 GB
panic: runtime error: index out of range [5] with length 5
KeyError: 'customer_id' in services/export/rows.py line 88
curl: (7) Failed to connect to localhost port 9200: Connection refused
npm ERR! peer dep missing: react@^18.2.0, required by ui-kit@5.0.3
Segmentation fault (core dumped) after 3 h 12 min, see /var/crash/worker.4411
PASS tests/test_orders.py::test_refund_is_idempotent in 0.42s
Build 5120 failed: 2 of 914 tests, first failure in checkout_flow_spec.rb:57
The compiler warns about an unused variable in the loop.
A mutex protects the map, readers take a snapshot.
The function returns an empty list when the file does not exist.
The cache key holds the tenant, the query and the version of the profile.
Call close() on the client, otherwise the last batch is lost.
The Treaty of Rome was signed in 1957 by six states.
Marie Curie won the Nobel Prize in Physics and later the one in Chemistry.
The river Zambezi falls over a hundred metres at the border of Zambia and Zimbabwe.
Basalt forms when lava cools quickly at the surface.
A leap year has 366 days, except in most years that end a century.
The heart of a blue whale weighs about as much as a small car.
Gutenberg printed his Bible in Mainz around 1455.
Bats find insects by the echo of their own calls.
The first transatlantic telegraph cable failed after three weeks.
Tuberculosis is caused by a bacterium that grows slowly.
The band released its second album in 1974 and toured Japan the year after.
The director studied law before she made her first film, a documentary about miners.
The castle was built in the twelfth century and destroyed by fire in 1689.
The novel is set in Trieste and tells the story of three brothers.
He was the youngest mayor of the city and later served as minister of transport.
The university, founded by merchants, is the oldest in the north of the country.
The enzyme cuts the protein at two sites and is inhibited by zinc.
In mice, loss of the gene delays wound healing by several days.
Higher doses did not lower mortality in patients with severe sepsis.
A randomised trial of 612 adults compared the two diets over eighteen months.
Vitamin D levels fall in winter, more so in older people.
The bond pays a coupon of four per cent and matures in 2031.
Inflation expectations rose although the central bank left the rate unchanged.
Is it better to pay off a student loan first or to save for retirement?
What is the difference between a mutex and a semaphore?
How do I read a file line by line in Python?
Sort a dictionary by value in descending order.
Which actor played the captain in the film that won the prize in 1962?
Where was the composer of the opera born?
In which year did the company that bought the airline go bankrupt?
Why do leaves turn red in autumn?
What changed between the March and the May version of the contract?
Ich habe den Zahnarzttermin auf den dritten Mai verschoben.
Meine Schwester wohnt jetzt in Graz und arbeitet bei der Bahn.
Nous avons acheté une maison près de Nantes avec un petit jardin.
Mon fils ne mange plus de viande depuis le mois de mars.
El perro de mis vecinos ladra toda la noche.
La reunión con el cliente es el lunes a las diez.
Ho dimenticato le chiavi in ufficio, puoi aprirmi?
O servidor de testes fica em Lisboa e reinicia às duas da manhã.
Wij fietsen elke zondag langs de dijk naar Hoorn.
"""

PROJECTION_TEXTS: Final = tuple(_LINES.strip().splitlines())
