/* A sample database with alias types, defaults of them, checks with LIKE, indexes made afterwards and procedures with output. */
set nocount on
GO
USE master
if exists (select * from sysdatabases where name='publishers')
begin
    raiserror('Dropping existing publishers database ....',0,1)
    DROP database publishers
end
GO
CHECKPOINT
go
CREATE DATABASE publishers
GO
CHECKPOINT
GO
USE publishers
GO
if db_name() <> 'publishers'
    raiserror('Error in publishers.sql: USE failed. Killing the connection.',22,127) with log
GO
execute sp_addtype id      ,'varchar(11)' ,'NOT NULL'
execute sp_addtype tid     ,'varchar(6)'  ,'NOT NULL'
CREATE TYPE empid FROM char(9) NOT NULL
go
raiserror('Now at the create table section ....',0,1)
GO
CREATE TABLE authors
(
   au_id          id CHECK (au_id like '[0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9][0-9][0-9]') CONSTRAINT UPKCL_auidind PRIMARY KEY CLUSTERED,
   au_lname       varchar(40)       NOT NULL,
   au_fname       varchar(20)       NOT NULL,
   phone          char(12)          NOT NULL DEFAULT ('UNKNOWN'),
   state          char(2)               NULL,
   zip            char(5)               NULL CHECK (zip like '[0-9][0-9][0-9][0-9][0-9]'),
   contract       bit               NOT NULL
)
go
CREATE TABLE houses
(
   house_id       char(4)           NOT NULL CONSTRAINT UPKCL_houseind PRIMARY KEY CLUSTERED
         CHECK (house_id in ('1389', '0736', '0877') OR house_id like '99[0-9][0-9]'),
   house_name     varchar(40)           NULL,
   country        varchar(30)           NULL DEFAULT('USA')
)
go
CREATE TABLE titles
(
   title_id       tid CONSTRAINT UPKCL_titleidind PRIMARY KEY CLUSTERED,
   title          varchar(80)       NOT NULL,
   type           char(12)          NOT NULL DEFAULT ('UNDECIDED'),
   house_id       char(4)               NULL REFERENCES houses(house_id),
   price          money                 NULL,
   ytd_sales      int                   NULL,
   pubdate        datetime          NOT NULL DEFAULT (getdate())
)
go
CREATE TABLE titleauthor
(
   au_id          id REFERENCES authors(au_id),
   title_id       tid REFERENCES titles(title_id),
   au_ord         tinyint               NULL,
   royaltyper     int                   NULL,
   CONSTRAINT UPKCL_taind PRIMARY KEY CLUSTERED(au_id, title_id)
)
go
CREATE TABLE jobs
(
   job_id         smallint          IDENTITY(1,1) PRIMARY KEY CLUSTERED,
   job_desc       varchar(50)       NOT NULL DEFAULT 'New Position - title not formalized yet',
   min_lvl        tinyint           NOT NULL CHECK (min_lvl >= 10),
   max_lvl        tinyint           NOT NULL CHECK (max_lvl <= 250)
)
go
CREATE TABLE employee
(
   emp_id         empid CONSTRAINT PK_emp_id PRIMARY KEY NONCLUSTERED
         CONSTRAINT CK_emp_id CHECK (emp_id LIKE '[A-Z][A-Z][A-Z][1-9][0-9][0-9][0-9][0-9][FM]' or
            emp_id LIKE '[A-Z]-[A-Z][1-9][0-9][0-9][0-9][0-9][FM]'),
   lname          varchar(30)       NOT NULL,
   job_id         smallint          NOT NULL DEFAULT 1 REFERENCES jobs(job_id),
   job_lvl        tinyint                    DEFAULT 10,
   house_id       char(4)           NOT NULL DEFAULT ('9952') REFERENCES houses(house_id),
   hire_date      datetime          NOT NULL DEFAULT (getdate())
)
go
raiserror('Now at the inserts ....',0,1)
GO
insert authors values('409-56-7008', 'Bennet', 'Abraham', '415 658-9932', 'CA', '94705', 1)
insert authors (au_id, au_lname, au_fname, contract) values('213-46-8915', 'Green', 'Marjorie', 0)
insert houses values('0736', 'New Moon Books', 'USA')
insert houses(house_id, house_name) values('9952', 'Scootney Books')
insert titles values ('PC8888', 'Secrets of the Valley', 'computing', '0736', $20.00, 4095, '06/12/94')
insert titles (title_id, title, house_id, price) values ('BU1032', 'The Busy Clerk''s Guide', '9952', 19.99)
insert titleauthor values('409-56-7008', 'BU1032', 1, 60)
insert titleauthor values('213-46-8915', 'BU1032', 2, 40)
insert titleauthor values('213-46-8915', 'PC8888', 1, 100)
insert jobs values ('New Hire - Job not specified', 10, 10)
insert jobs values ('Chief Executive Officer', 200, 250)
insert employee values ('PTC11962M', 'Cramer', 2, 215, '9952', '11/11/89')
insert employee (emp_id, lname) values ('A-R89858F', 'Roulet')
GO
CREATE CLUSTERED INDEX employee_ind ON employee(lname)
go
CREATE INDEX aunmind ON authors (au_lname, au_fname)
go
CREATE INDEX titleind ON titles (title)
go
CREATE VIEW titleview
AS
select title, au_ord, au_lname, price, ytd_sales, house_id
from authors, titles, titleauthor
where authors.au_id = titleauthor.au_id
   AND titles.title_id = titleauthor.title_id
go
CREATE PROCEDURE byroyalty @percentage int
AS
select au_id from titleauthor
where titleauthor.royaltyper = @percentage
go
CREATE PROCEDURE title_price @title tid, @price money OUTPUT
AS
select @price = price from titles where title_id = @title
if @@rowcount = 0 return 1
return 0
go
UPDATE STATISTICS titles
GO
CHECKPOINT
go
EXEC sp_addextendedproperty 'MS_Description', 'Who writes', 'user', 'dbo', 'table', 'authors'
go
