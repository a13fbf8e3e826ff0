/* A sample database as they were written for SQL Server 7 and 2000: traders, what they sell, who buys it. */
set nocount on
set dateformat mdy
USE master
GO
if exists (select * from sysdatabases where name='Traders')
    drop database Traders
go
CREATE DATABASE Traders
GO
set quoted_identifier on
GO
/* Set DATEFORMAT so that the date strings are read the same way everywhere. */
SET DATEFORMAT mdy
GO
use "Traders"
go
if exists (select * from sysobjects where id = object_id('dbo.Staff Sales by Country') and sysstat & 0xf = 4)
    drop procedure "dbo"."Staff Sales by Country"
GO
if exists (select * from sysobjects where id = object_id('dbo.Invoices') and sysstat & 0xf = 2)
    drop view "dbo"."Invoices"
GO
if exists (select * from sysobjects where id = object_id('dbo.Order Lines') and sysstat & 0xf = 3)
    drop table "dbo"."Order Lines"
GO
if exists (select * from sysobjects where id = object_id('dbo.Staff') and sysstat & 0xf = 3)
    drop table "dbo"."Staff"
GO
CREATE TABLE "Staff" (
    "StaffID" "int" IDENTITY (1, 1) NOT NULL ,
    "LastName" nvarchar (20) NOT NULL ,
    "FirstName" nvarchar (10) NOT NULL ,
    "BirthDate" "datetime" NULL ,
    "HireDate" "datetime" NULL ,
    "Country" nvarchar (15) NULL ,
    "Photo" "image" NULL ,
    "Notes" "ntext" NULL ,
    "ReportsTo" "int" NULL ,
    CONSTRAINT "PK_Staff" PRIMARY KEY  CLUSTERED
    (
        "StaffID"
    ),
    CONSTRAINT "FK_Staff_Staff" FOREIGN KEY
    (
        "ReportsTo"
    ) REFERENCES "dbo"."Staff" (
        "StaffID"
    ),
    CONSTRAINT "CK_Birthdate" CHECK (BirthDate < getdate())
)
GO
 CREATE  INDEX "LastName" ON "dbo"."Staff"("LastName")
GO
CREATE TABLE "Kinds" (
    "KindID" "int" IDENTITY (1, 1) NOT NULL ,
    "KindName" nvarchar (15) NOT NULL ,
    "Description" "ntext" NULL ,
    "Picture" "image" NULL ,
    CONSTRAINT "PK_Kinds" PRIMARY KEY  CLUSTERED ("KindID")
)
GO
CREATE TABLE "Buyers" (
    "BuyerID" nchar (5) NOT NULL ,
    "CompanyName" nvarchar (40) NOT NULL ,
    "City" nvarchar (15) NULL ,
    "Country" nvarchar (15) NULL ,
    CONSTRAINT "PK_Buyers" PRIMARY KEY  CLUSTERED ("BuyerID")
)
GO
CREATE TABLE "Goods" (
    "GoodID" "int" IDENTITY (1, 1) NOT NULL ,
    "GoodName" nvarchar (40) NOT NULL ,
    "KindID" "int" NULL ,
    "UnitPrice" "money" NULL CONSTRAINT "DF_Goods_UnitPrice" DEFAULT (0),
    "UnitsInStock" "smallint" NULL CONSTRAINT "DF_Goods_UnitsInStock" DEFAULT (0),
    "Discontinued" "bit" NOT NULL CONSTRAINT "DF_Goods_Discontinued" DEFAULT (0),
    CONSTRAINT "PK_Goods" PRIMARY KEY  CLUSTERED ("GoodID"),
    CONSTRAINT "FK_Goods_Kinds" FOREIGN KEY ("KindID") REFERENCES "dbo"."Kinds" ("KindID"),
    CONSTRAINT "CK_Goods_UnitPrice" CHECK (UnitPrice >= 0),
    CONSTRAINT "CK_UnitsInStock" CHECK (UnitsInStock >= 0)
)
GO
CREATE TABLE "Orders" (
    "OrderID" "int" IDENTITY (1, 1) NOT NULL ,
    "BuyerID" nchar (5) NULL ,
    "StaffID" "int" NULL ,
    "OrderDate" "datetime" NULL ,
    "ShippedDate" "datetime" NULL ,
    "Freight" "money" NULL CONSTRAINT "DF_Orders_Freight" DEFAULT (0),
    CONSTRAINT "PK_Orders" PRIMARY KEY  CLUSTERED ("OrderID"),
    CONSTRAINT "FK_Orders_Buyers" FOREIGN KEY ("BuyerID") REFERENCES "dbo"."Buyers" ("BuyerID"),
    CONSTRAINT "FK_Orders_Staff" FOREIGN KEY ("StaffID") REFERENCES "dbo"."Staff" ("StaffID")
)
GO
CREATE TABLE "Order Lines" (
    "OrderID" "int" NOT NULL ,
    "GoodID" "int" NOT NULL ,
    "UnitPrice" "money" NOT NULL CONSTRAINT "DF_Order_Lines_UnitPrice" DEFAULT (0),
    "Quantity" "smallint" NOT NULL CONSTRAINT "DF_Order_Lines_Quantity" DEFAULT (1),
    "Discount" "real" NOT NULL CONSTRAINT "DF_Order_Lines_Discount" DEFAULT (0),
    CONSTRAINT "PK_Order_Lines" PRIMARY KEY  CLUSTERED ("OrderID", "GoodID"),
    CONSTRAINT "FK_Order_Lines_Orders" FOREIGN KEY ("OrderID") REFERENCES "dbo"."Orders" ("OrderID"),
    CONSTRAINT "FK_Order_Lines_Goods" FOREIGN KEY ("GoodID") REFERENCES "dbo"."Goods" ("GoodID"),
    CONSTRAINT "CK_Discount" CHECK (Discount >= 0 and (Discount <= 1)),
    CONSTRAINT "CK_Quantity" CHECK (Quantity > 0)
)
GO
create view "Line Values" AS
SELECT "Order Lines".OrderID, Goods.GoodName, "Order Lines".UnitPrice, "Order Lines".Quantity,
    (CONVERT(money,("Order Lines".UnitPrice*Quantity*(1-Discount)/100))*100) AS ExtendedPrice
FROM Goods INNER JOIN "Order Lines" ON Goods.GoodID = "Order Lines".GoodID
GO
create view Invoices AS
SELECT Buyers.CompanyName AS BuyerName, (FirstName + ' ' + LastName) AS Salesperson, Orders.OrderID, Orders.OrderDate,
    v.GoodName, v.ExtendedPrice, Orders.Freight
FROM (Buyers INNER JOIN Orders ON Buyers.BuyerID = Orders.BuyerID)
    INNER JOIN Staff ON Staff.StaffID = Orders.StaffID
    INNER JOIN "Line Values" v ON v.OrderID = Orders.OrderID
GO
create procedure "Staff Sales by Country"
@Beginning_Date DateTime, @Ending_Date DateTime AS
SELECT Staff.Country, Staff.LastName, Orders.ShippedDate, Orders.OrderID, "Line Values".ExtendedPrice AS SaleAmount
FROM Staff INNER JOIN
    (Orders INNER JOIN "Line Values" ON Orders.OrderID = "Line Values".OrderID)
    ON Staff.StaffID = Orders.StaffID
WHERE Orders.ShippedDate Between @Beginning_Date And @Ending_Date
ORDER BY Orders.OrderID, SaleAmount
GO
set quoted_identifier on
go
set identity_insert "Kinds" on
go
ALTER TABLE "Kinds" NOCHECK CONSTRAINT ALL
go
INSERT "Kinds"("KindID","KindName","Description","Picture") VALUES(1,'Drinks','Tea, juice and water',0x151C2F00020000000D000E0014002100FFFFFFFF)
INSERT "Kinds"("KindID","KindName","Description","Picture") VALUES(2,'Spices','Hot and mild',NULL)
go
set identity_insert "Kinds" off
go
ALTER TABLE "Kinds" CHECK CONSTRAINT ALL
go
ALTER TABLE "Staff" NOCHECK CONSTRAINT ALL
go
set identity_insert "Staff" on
go
INSERT "Staff"("StaffID","LastName","FirstName","BirthDate","HireDate","Country","Photo","Notes","ReportsTo")
    VALUES(1,'Moor','Ada','12/08/1968','05/01/1992','UK',0x151C2F,N'Speaks three languages — and reads a fourth.',2)
INSERT "Staff" ("StaffID","LastName","FirstName","BirthDate","HireDate","Country","Photo","Notes","ReportsTo")
    VALUES(2,'Field','Bo','02/19/1952','08/14/1992','US',NULL,N'Head of sales',NULL)
INSERT "Staff"("StaffID","LastName","FirstName","BirthDate","HireDate","Country","ReportsTo") VALUES(3,'Brook','Cy','08/30/1963','04/01/1992','US',2)
go
set identity_insert "Staff" off
go
ALTER TABLE "Staff" CHECK CONSTRAINT ALL
go
INSERT "Buyers" VALUES('ALFKA','Alfa Kantine','Berlin','Germany')
INSERT "Buyers" VALUES('BONTE','Bon Temps',N'Orléans','France')
go
INSERT "Goods"("GoodName","KindID","UnitPrice","UnitsInStock") VALUES('Green tea',1,18,39)
INSERT "Goods"("GoodName","KindID","UnitPrice") VALUES('Chef''s pepper',2,21.35)
INSERT "Goods"("GoodName","KindID") VALUES('Water',1)
go
INSERT INTO "Orders" VALUES ('ALFKA',1,'7/4/1996','7/16/1996',32.38)
INSERT INTO "Orders" ("BuyerID","StaffID","OrderDate","ShippedDate") VALUES (N'BONTE',3,'7/5/1996','7/10/1996')
INSERT INTO "Orders" VALUES ('BONTE',3,'7/8/1996',NULL,65.83)
go
INSERT "Order Lines" VALUES(1,1,14,12,0)
INSERT "Order Lines" VALUES(1,2,9.8,10,0.25)
INSERT "Order Lines"(OrderID, GoodID, UnitPrice) VALUES(2,3,18.6)
INSERT "Order Lines" VALUES(3,1,42.4,5,0.5)
go
