package main

// The people and companies of the data are invented.
var (
	companyNames = []string{
		"Alder", "Birchwood", "Cobalt", "Dunmore", "Elbtal", "Fernhill", "Granat", "Hollow Oak", "Isarwerk", "Juniper",
		"Kestrel", "Lindgren", "Marlow", "Nordkap", "Ostara", "Pinecrest", "Quarry Lane", "Redshank", "Silberbach", "Tamarisk",
	}
	customerTrades = []string{"Foods Ltd", "Textil GmbH", "Interiors BV", "Market AG", "Retail SARL", "Hotels Ltd"}
	supplierTrades = []string{"Logistics GmbH", "Packaging BV", "Components AG", "Print Ltd", "Cleaning GmbH", "Metals AB"}
	firstNames     = []string{
		"Ada", "Bram", "Clara", "Dario", "Edda", "Finn", "Greta", "Hugo", "Ines", "Jonas", "Katja", "Luca",
		"Mira", "Nils", "Olga", "Paul", "Rosa", "Sven", "Tilda", "Urs", "Vera", "Wim", "Yara", "Zeno",
	}
	lastNames = []string{
		"Adler", "Bakker", "Conti", "Dietz", "Ebner", "Falk", "Gruber", "Hansen", "Iversen", "Jansen", "Keller", "Lorenz",
		"Moser", "Neri", "Olsen", "Peters", "Reuter", "Schulz", "Toth", "Ullmann", "Vogel", "Winter", "Yilmaz", "Zeller",
	}
	subscriptions = []string{
		"Cloudrail Hosting", "Paperless Archive", "Signet Mail", "Plotwise Design", "Ticketbird", "Backupnest", "Phonova",
		"Mapfield", "Ledgerlight", "Videosphere", "Passvault", "Chartmill", "Translato", "Formfolk",
	}
	debits = []string{
		"Stadtwerke Strom", "Stadtwerke Gas", "Aqua Regio", "Fibernet", "Lease Mobility", "Franking Services",
		"Vending Partner", "Guardline Alarm", "Copier Lease", "Waste Union",
	}
)
