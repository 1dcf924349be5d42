"""Closed pools of words, as data."""

from __future__ import annotations


def _split(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _words(text: str) -> tuple[str, ...]:
    return tuple(" ".join(word.split()) for word in text.split(",") if word.strip())


FEMALE = _split("""
    Ada Aisha Akua Alice Amara Amina Ana Anika Anja Anna Annika Aoife Aparna Asha Astrid Ayse Beatriz
    Bianca Birgit Brigid Camila Carla Carmen Cecilia Celeste Chiara Chloe Clara Constance Daniela Daphne
    Dina Dora Ebba Edith Eileen Elena Elif Elise Ella Elsa Emilia Emma Esther Eva Fatima Fiona Flora
    Freya Gabriela Gemma Greta Hana Hannah Heidi Helena Hilda Ida Imani Ines Ingrid Irene Iris Isabel
    Ivana Jana Jasmine Joana Johanna Judith Julia Kamala Karin Katarina Keiko Kirsten Laila Lakshmi
    Larissa Lena Leila Lina Linnea Lucia Lucy Maeve Magda Maja Mara Margot Maria Marta Matilda Maya Mei
    Mina Mira Miriam Monica Nadia Naomi Nina Noor Nora Olga Olivia Paula Petra Priya Rania Rebecca
    Renata Rosa Ruth Sabine Sadia Sanna Sara Saskia Selma Signe Silvia Sofia Sunita Svenja Tamar Tanja
    Teresa Thandi Tilda Ursula Valentina Vera Violet Wanjiru Wilma Xenia Yasmin Yuki Zainab Zofia Zora""")
MALE = _split("""
    Aaron Abdul Adam Ahmed Alan Albert Alejandro Ali Amir Anders Andre Anton Arjun Arthur Ben Boris
    Bruno Carlos Cedric Chen Christoph Claude Colin Conrad Cyrus Dan Dario David Diego Dirk Dmitri Edgar
    Eduardo Elias Emil Emre Enzo Erik Ernst Farid Felix Fergus Filip Florian Frank Gavin George Gerald
    Giorgio Goran Gustav Hamid Hans Harold Hassan Henrik Hiro Hugo Ian Ibrahim Igor Ilya Ivan Jack Jakob
    Jamal Jan Javier Jonas Jorge Josef Juan Julian Kai Karim Karl Kenji Klaus Kofi Kwame Lars Leo Levi
    Liam Lorenz Louis Luca Lukas Malik Marco Marek Martin Mateo Matthias Max Mehmet Michael Mikael Milan
    Mohammed Moritz Nabil Nikolai Nils Oliver Omar Oscar Otto Pablo Patrick Pavel Pedro Peter Philip
    Rafael Raj Ramon Rashid Reza Robert Rohan Roman Rui Samir Samuel Sanjay Sean Sergei Simon Stefan
    Sven Tariq Theo Thomas Tim Tobias Tomas Umar Victor Viktor Vikram Vincent Walter Wei William Xavier
    Yannick Yusuf Zoltan""")
SURNAMES = _split("""
    Abara Adeyemi Alvarez Andersson Bauer Becker Berg Bianchi Brandt Brennan Byrne Castillo Chandra
    Cohen Costa Dahl Diallo Duarte Eriksen Faber Ferrari Fischer Flores Fontaine Garcia Gomez Greene
    Gupta Haddad Hansen Hoffman Holt Hughes Ibarra Ivanov Jansen Jensen Kaplan Keller Khan Kim Kovacs
    Kowalski Kruger Kumar Lambert Larsen Laurent Lind Lopez Mahmoud Marsh Martinez Mbeki Meyer Moreau
    Morgan Moretti Murphy Nakamura Nguyen Nilsson Novak Okafor Olsen Ortega Osei Park Patel Pereira
    Petrov Popescu Quinn Ramos Reid Ricci Rivera Rossi Sato Schmidt Schneider Shah Sharma Silva Singh
    Sorensen Suzuki Takeda Tanaka Torres Turner Varga Vargas Vogel Wagner Walsh Weber Wong Yamada Yilmaz
    Young Zhang Zimmermann""")
CITIES = _split("""
    Amsterdam Athens Austin Basel Bergen Berlin Bologna Bordeaux Boston Bremen Bristol Brno Brussels
    Cairo Cardiff Chicago Cologne Copenhagen Cork Denver Dresden Dublin Edinburgh Florence Geneva Genoa
    Ghent Glasgow Graz Hamburg Helsinki Istanbul Kyoto Lagos Leeds Leipzig Lima Lisbon Liverpool London
    Lyon Madrid Malmo Manchester Marseille Milan Montreal Munich Nairobi Naples Nantes Osaka Oslo Ottawa
    Oxford Paris Porto Prague Quito Riga Rome Rotterdam Salzburg Seattle Seoul Seville Stockholm Tallinn
    Tampere Toronto Toulouse Turin Uppsala Utrecht Valencia Vienna Vilnius Warsaw York Zagreb Zurich""")
NOUNS = _split("""
    Alder Amber Anchor Apollo Arrow Atlas Aurora Beacon Birch Bison Bridge Canyon Cedar Cobalt Comet
    Condor Copper Coral Crane Crystal Delta Dolphin Eagle Echo Elm Ember Falcon Fern Finch Forge Fox
    Garnet Glacier Granite Harbour Hawk Heron Horizon Indigo Iris Island Ivory Jade Juniper Lantern
    Laurel Lotus Lynx Maple Marble Meadow Mercury Meteor Mistral Nova Oak Ocean Onyx Opal Orbit Orchid
    Osprey Otter Pearl Pebble Phoenix Pine Pioneer Prairie Prism Quartz Raven Reef River Robin Rowan
    Saffron Sapphire Sequoia Sierra Silver Sparrow Spruce Summit Swift Tango Thistle Tiger Topaz Tulip
    Vector Velvet Vertex Violet Willow Wolf Zenith Zephyr""")
PRODUCT_NOUNS = _words(
    "Lamp, Kettle, Scanner, Router, Drill, Camera, Printer, Chair, Desk, Bike, Heater, Pump, Clock"
)
STREET_KINDS = _words("Street, Road, Lane, Avenue, Square, Way, Hill, Court, Alley, Terrace")
PLACE_KINDS = _words(
    "office, warehouse, building, laboratory, library, branch, depot, centre, workshop, hall, clinic"
)
JOBS = _words(
    """
    accountant, analyst, architect, archivist, baker, biologist, bookkeeper, botanist, bus driver,
    buyer, carpenter, chemist, cleaner, cook, customer adviser, data engineer, dentist, designer,
    economist, editor, electrician, engineer, event planner, firefighter, gardener, geologist,
    glassblower, graphic designer, historian, illustrator, inspector, interpreter, journalist, lab
    assistant, lawyer, librarian, locksmith, machinist, mechanic, midwife, network engineer, nurse,
    office manager, optician, painter, pharmacist, photographer, physicist, pilot, plumber, product
    manager, programmer, project manager, purchasing agent, receptionist, recruiter, researcher, safety
    officer, sales manager, secretary, security guard, software developer, statistician, surgeon,
    surveyor, tailor, teacher, technician, tester, trainer, translator, upholsterer, vet, warehouse
    manager, welder, writer"""
)
HOBBIES = _words(
    """
    archery, astronomy, baking, beekeeping, birdwatching, bouldering, calligraphy, canoeing, chess,
    choir singing, cycling, dancing, drawing, embroidery, fencing, fishing, gardening, hiking, horse
    riding, judo, juggling, kayaking, knitting, model railways, mountain biking, orienteering, origami,
    painting, photography, pottery, rowing, running, sailing, sewing, skating, skiing, stamp collecting,
    surfing, swimming, table tennis, tennis, theatre, volleyball, woodworking, writing poems, yoga"""
)
FOODS = _words(
    """
    apple cake, baked beans, carrot soup, cheese pie, chicken curry, couscous, dumplings, falafel, fish
    stew, fried rice, goulash, grilled trout, lasagne, lentil soup, mushroom risotto, noodle soup, onion
    tart, paella, pancakes, pea soup, pizza, plum cake, potato salad, pumpkin pie, ramen, ratatouille,
    rice pudding, roast lamb, sushi, tomato soup, vegetable curry, waffles"""
)
ANIMALS = _words(
    """
    canary, cat, chinchilla, dog, donkey, ferret, gecko, goat, goldfish, guinea pig, hamster, hedgehog,
    horse, lizard, parrot, pony, rabbit, snake, spaniel, terrier, tortoise"""
)
LANGUAGES = _words(
    """
    Arabic, Basque, Bengali, Czech, Danish, Dutch, English, Estonian, Finnish, French, German, Greek,
    Hebrew, Hindi, Hungarian, Icelandic, Irish, Italian, Japanese, Korean, Latvian, Malay, Mandarin,
    Norwegian, Persian, Polish, Portuguese, Romanian, Russian, Spanish, Swahili, Swedish, Tamil, Thai,
    Turkish, Ukrainian, Urdu, Vietnamese, Welsh, Zulu"""
)
SKILLS = _words(
    """
    accounting, cost control, data analysis, first aid, graphic design, interviewing, machine learning,
    negotiation, network security, photo editing, planning, project planning, public speaking, risk
    analysis, sign language, soldering, statistics, teaching, technical writing, translation, typing,
    video editing, web design, welding"""
)
COLOURS = _words(
    """
    red, blue, green, black, white, grey, yellow, orange, purple, brown, pink, silver, dark blue, light
    green, beige, turquoise, olive green, dark red, cream, navy blue"""
)
MATERIALS = _words(
    """
    oak, steel, glass, aluminium, bamboo, ceramic, concrete, copper, cork, cotton, felt, leather, linen,
    marble, nylon, paper, pine, plastic, recycled plastic, rubber, silk, slate, stainless steel,
    titanium, walnut, wool, brass, bronze, carbon fibre, granite"""
)
CAUSES = _words(
    """
    a leaking pipe, a power cut, a broken fan, a loose cable, a full disk, a wrong password, a burst
    tyre, a software bug, a failed update, a blocked drain, a faulty sensor, a lightning strike, a
    missing key, a worn belt, a dead battery, an open window, an overheated motor, an expired
    certificate, a storm, a typing error, a short circuit, a jammed door, a cracked valve, a broken
    lock, a network outage, a frozen pipe, a stuck lift, a damaged switch, a lost parcel, a spilled
    drink, human error, heavy rain, a virus, an unpaid bill"""
)
SYSTEMS = _words(
    """
    the payroll system, the heating system, the lift, the phone system, the mail server, the booking
    site, the alarm system, the printer network, the water supply, the online shop, the door locks, the
    backup server, the web server, the card readers, the conveyor belt, the cooling system, the car park
    barrier, the ticket system, the freezer, the fire alarm, the customer database, the wireless
    network, the video system, the main gate"""
)
TOOLS = _words(
    """
    a spreadsheet, a torque wrench, a laser cutter, a sewing machine, a forklift, a drill press, a
    notebook, a label printer, a microscope, a soldering iron, a tablet, a whiteboard, a chainsaw, a
    lathe, a drone, a voltmeter, a heat gun, a hand saw, a barcode scanner, a 3D printer, a pressure
    gauge, a spirit level"""
)
GROUPS = _words(
    """
    all staff, interns, part-time staff, full-time staff, managers, night workers, drivers, visitors,
    new employees, contractors, remote workers, trainees, sales staff, lab workers, students,
    volunteers, team leaders, warehouse staff, suppliers, temporary staff"""
)
TOPICS = _words(
    """
    travel, remote work, sick leave, holiday, parental leave, expense, training, parking, visitor, dress
    code, data protection, password, overtime, relocation, bonus, company car, bicycle, equipment,
    laptop, phone, meal, gift, hiring, referral, safety, smoking, recycling, key card, study leave,
    volunteering, hotel, taxi, home office, pension, gym, childcare, printing, library, pet, meeting
    room, purchasing, archive, complaint, conflict of interest, fire safety, first aid, night shift,
    probation, retirement, unpaid leave, flexible hours, social media, software, travel insurance"""
)
POLICY_KINDS = ("policy", "policy", "policy", "rule", "scheme", "guideline")
WEEKDAYS = _words("Monday, Tuesday, Wednesday, Thursday, Friday, Saturday, Sunday")
MONTHS = _words(
    "January, February, March, April, May, June, July, August, September, October, November, December"
)
NUMBER_WORDS = _words("two, three, four, five, six, seven, eight, nine, ten, eleven, twelve")
ORDINALS = _words("ground, first, second, third, fourth, fifth, sixth, seventh, eighth, ninth, tenth, top")
ONSETS = _split("b br c ch d dr f fl g gr h j k kl l m n p pr qu r s sh st t th tr v w z")
VOWELS = _split("a e i o u a e i o ai ea ou")
CODAS = ("", "", "", "", "n", "r", "l", "s", "m", "t", "nd", "rk", "x", "ll")
NAME_ENDINGS = _split("a en ar is o el um an ing ley ford well ic ane ov er man son ski")
CITY_ENDINGS = (
    "ton",
    "ville",
    "ford",
    "burg",
    "field",
    "port",
    "ham",
    "mouth",
    "stad",
    "by",
    "haven",
    "bridge",
    "dale",
    "a",
    "is",
    "mere",
    "wick",
)
